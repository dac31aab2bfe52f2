import { createHash } from 'node:crypto'
import { formatLimit } from '../../core/limit.ts'
import type { Rule } from '../../core/rule-book.ts'
import { list, number, oneOf, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { formatBook, type StoredBook } from './stored-book.ts'

const reply = list(
  oneOf({ ok: { at: number, version: number, mark: text }, 'old-book': { version: number } }),
)
/** Writes the book into a shard; refused if the shard has a newer one. */
export const bookScript = defineScript('book', import.meta.url, reply)

/** The rule book that a shard has, and the name of the shard, which changes when the shard loses its data. */
export interface ShardMark {
  readonly version: number
  readonly digest: string
  readonly name: string
}

/**
 * Writes the book into a shard. Returns undefined if the shard has a newer one.
 *
 * @param name a name for the shard, used if it has none
 * @param hasSeen whether this process has seen a book in the shard before
 */
export async function writeBook(
  store: Store,
  shard: number,
  book: StoredBook,
  { name, hasSeen }: { readonly name: string; readonly hasSeen: boolean },
  now?: number,
): Promise<{ readonly at: number; readonly mark: ShardMark | undefined } | undefined> {
  const json = formatBook(book)
  const values = [book.version, json, digestOfBook(json), name, hasSeen ? '1' : '0', store.shards]
  const found = await store.write(bookScript, shard, values, now)
  return found.kind === 'ok' ? { at: found.at, mark: parseMark(found.mark) } : undefined
}

/** Distinguishes books of one version: after a failover that lost a change, two may have been written. */
export function digestOfBook(json: string): string {
  return createHash('sha1').update(json).digest('base64url')
}

/** Parses a mark as `book.lua` writes it. Returns undefined if there is none, or if it has another form. */
export function parseMark(mark: string | undefined): ShardMark | undefined {
  const [version, digest, name, ...others] = mark?.split(' ') ?? []
  if (version === undefined || !digest || !name || others.length > 0 || !/^\d+$/.test(version))
    return undefined
  return { version: Number(version), digest, name }
}

/** The rule of a key as a verb passes it to its script; empty values if no rule applies. */
export function ruleValues(rule: Rule | undefined): (string | number)[] {
  if (rule === undefined) return ['', 0, 0, 0, 0, 0, '']
  const { pattern, limit } = rule
  const { capacity, interval, tolerance, warmUp, coldInterval } = limit
  return [pattern, capacity, interval, tolerance, warmUp, coldInterval, formatLimit(limit)]
}
