import type { LayeredBook } from '../../core/layered-book.ts'
import { list, number, oneOf, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { limitValue, ruleValues } from './book.ts'

const bucket = row({ key: text, pattern: text, limit: text })
const stalePage = list(row({ version: number, next: text, buckets: rest(bucket) }))
const staleScript = defineScript('stale', import.meta.url, stalePage)
const retimeReply = list(oneOf({ ok: { changed: number }, 'old-book': { version: number } }))
const retimeScript = defineScript('retime', import.meta.url, retimeReply)

/** The most buckets in one call. */
const MOST_RETIMED = 100

/**
 * Applies the rules in force to every live bucket of a shard; first to the buckets with jobs that are about to depart. Stops
 * when another process changes the book again, because that process goes through the buckets then. Buckets that are created
 * meanwhile use the new book.
 */
export async function retimeBuckets(
  store: Store,
  shard: number,
  book: () => LayeredBook,
  now?: number,
): Promise<void> {
  if (await retimeSome(store, shard, book, 'due', now)) await retimeSome(store, shard, book, 'all', now)
}

/** Returns false if the book was changed again. */
async function retimeSome(
  store: Store,
  shard: number,
  book: () => LayeredBook,
  which: 'due' | 'all',
  now: number | undefined,
): Promise<boolean> {
  let cursor = '0'
  do {
    const { next, buckets } = await store.run(staleScript, shard, [which, cursor])
    const rules = buckets.flatMap(({ key, pattern, limit }) => {
      const rule = book().find(key)
      // A bucket whose rule is unchanged gets the version when it is next written.
      if (rule === undefined || (rule.pattern === pattern && limitValue(rule.limit) === limit)) return []
      return [[key, ...ruleValues(rule)]]
    })
    const isLast = which === 'all' && next === '0'
    if (!(await apply(store, shard, book, rules, isLast, now))) return false
    cursor = next
  } while (cursor !== '0')
  return true
}

async function apply(
  store: Store,
  shard: number,
  book: () => LayeredBook,
  rules: readonly (string | number)[][],
  isLast: boolean,
  now: number | undefined,
): Promise<boolean> {
  for (let from = 0; from < rules.length || (isLast && from === 0); from += MOST_RETIMED) {
    const some = rules.slice(from, from + MOST_RETIMED)
    const isEnd = isLast && from + MOST_RETIMED >= rules.length
    const values = [now ?? '', book().version, isEnd ? '1' : '0', some.length, ...some.flat()]
    const found = await store.run(retimeScript, shard, values)
    if (found.kind !== 'ok') return false
  }
  return true
}
