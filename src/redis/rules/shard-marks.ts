import { createHash } from 'node:crypto'

/** Which rule book a shard has, and which shard it is: one that lost all that it held is another one. */
export interface ShardMark {
  readonly version: number
  readonly digest: string
  readonly name: string
}

/** Tells books of one version apart: after a failover that lost a change, two of them may have been written. */
export function digestOfBook(text: string): string {
  return createHash('sha1').update(text).digest('base64url')
}

/** As `book.lua` writes it. Undefined: there is none, or it is not ours. */
export function parseMark(text: string | undefined): ShardMark | undefined {
  const [version, digest, name, ...rest] = text?.split(' ') ?? []
  if (version === undefined || !digest || !name || rest.length > 0 || !/^\d+$/.test(version)) return undefined
  return { version: Number(version), digest, name }
}
