import { allScripts } from '../fuzz/scripts/all-scripts.ts'

let known: ReadonlyMap<string, string> | undefined

/** The scripts of the product by their hashes, one byte in each character. Clients of BullMQ send theirs on each connection. */
export function knownScripts(): ReadonlyMap<string, string> {
  known ??= new Map(
    [...allScripts().values()].map(({ sha, text }) => [sha, Buffer.from(text).toString('latin1')]),
  )
  return known
}
