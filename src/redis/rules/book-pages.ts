import { randomBytes } from 'node:crypto'
import { shardKey } from '../scripts/keys.ts'
import { list, number, oneOf, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

/** Bytes of one page, which Redis copies in a small part of a millisecond. */
export const PAGE = 65_536
/** How many pages are asked for at once. */
const AT_ONCE = 8
/** How often a reader starts reading because the book has changed; after that it reads the whole book in one command. */
export const MOST_READS = 5

const pageScript = defineScript(
  'page',
  import.meta.url,
  list(oneOf({ same: {}, page: { version: number, mark: text, bytes: number, page: text } })),
)
const draftScript = defineScript('draft', import.meta.url, list(oneOf({ ok: {}, lost: {} })))

/** Distinguishes a book from all others: after a failover that lost a change, there may be two of one version. */
export interface KnownBook {
  readonly version: number
  readonly digest: string
  /** Of its text. */
  readonly bytes: number
}

/**
 * Reads the rule book of the first shard by pages, so that a long one keeps Redis busy no longer than a short one. If the book
 * changes meanwhile, starts again.
 *
 * @param known the book that the caller has
 * @returns undefined if there is none, or if the caller has it
 */
export async function readBook(store: Store, known?: KnownBook): Promise<string | undefined> {
  for (let reads = 0; reads < MOST_READS; reads++) {
    const pages = await readPages(store, known)
    if (pages !== 'changed') return pages.length === 0 ? undefined : pages.join('')
  }
  return store.text(shardKey(store.tags[0]!, 'book'))
}

/** All pages of one book; none if there is no book or the caller has it. */
async function readPages(store: Store, known?: KnownBook): Promise<readonly string[] | 'changed'> {
  const read = (from: number, known: readonly (string | number)[] = ['', 0]) =>
    store.read(pageScript, 0, [from, PAGE, ...known])
  const first = await read(0, known && [`${known.version} ${known.digest}`, known.bytes])
  if (first.kind === 'same' || first.bytes === 0) return []
  const pages = [first]
  for (let from = PAGE; from < first.bytes; from = pages.length * PAGE) {
    const starts = Array.from({ length: AT_ONCE }, (_, index) => from + index * PAGE)
    const next = await Promise.all(starts.filter((start) => start < first.bytes).map((start) => read(start)))
    for (const page of next) {
      if (page.kind === 'same' || page.mark !== first.mark || page.version !== first.version) return 'changed'
      pages.push(page)
    }
  }
  return pages.map(({ page }) => page)
}

/**
 * Writes a long rule book into a shard, page by page, where `book` finds it.
 *
 * @returns the name of the draft; undefined if some of it got lost
 */
export async function writeDraft(
  store: Store,
  shard: number,
  text: Buffer,
  now?: number,
): Promise<string | undefined> {
  const name = randomBytes(9).toString('base64url')
  for (let from = 0; from < text.length; ) {
    const end = characterBefore(text, from + PAGE)
    const written = await store.write(draftScript, shard, [name, from, text.toString('utf8', from, end)], now)
    if (written.kind === 'lost') return undefined
    from = end
  }
  return name
}

/** Where the character begins that this byte belongs to. */
function characterBefore(text: Buffer, place: number): number {
  let start = Math.min(place, text.length)
  while (start < text.length && (text[start]! & 0xc0) === 0x80) start--
  return start
}
