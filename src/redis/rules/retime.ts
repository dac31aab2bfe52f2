import type { LayeredBook } from '../../core/layered-book.ts'
import type { Rule, TotalRule } from '../../core/rule-book.ts'
import { missingZone } from '../connection/redis-errors.ts'
import { list, number, oneOf, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { limitValue, ruledBy, ruleText, ruleValues } from './book.ts'
import { zoneUnknownHere } from './unknown-zones.ts'

const bucket = row({ key: text, pattern: text, limit: text })
const stalePage = list(row({ version: number, next: text, ruled: rest(bucket) }))
const staleScript = defineScript('stale', import.meta.url, stalePage)
const retimeReply = list(oneOf({ ok: { changed: number }, 'old-book': { version: number } }))
const retimeScript = defineScript('retime', import.meta.url, retimeReply)

/** The most buckets in one call. */
const MOST_RETIMED = 100
/** Below totals each takes longer. */
const MOST_BELOW_TOTALS = 40

/** A bucket or a total, and the rule that applies to it now. */
interface Ruled {
  readonly key: string
  readonly rule: Rule
  readonly totals: readonly TotalRule[]
}

/**
 * Applies the rules in force to every live bucket of a shard; first to the buckets with jobs that are about to depart. Totals follow with
 * the buckets below them, and those that count nothing also by themselves. Stops when another process changes the book again, because that
 * process goes through the buckets then. Buckets that are created meanwhile use the new book.
 *
 * Returns false if a bucket keeps its limit because its rule counts by a time zone that is unknown here, and Redis has nothing of it,
 * either: a process that knows the zone has to go through the buckets again.
 */
export async function retimeBuckets(
  store: Store,
  shard: number,
  book: () => LayeredBook,
  now?: number,
): Promise<boolean> {
  const due = await retimeSome(store, shard, book, 'due', now)
  if (due === 'changed') return true
  // Together: what opens a line waits for them.
  const outcomes = await Promise.all([
    retimeSome(store, shard, book, 'all', now),
    book().hasTotals ? retimeSome(store, shard, book, 'totals', now) : 'done',
  ])
  if (outcomes.includes('changed')) return true
  if (outcomes.includes('left')) return false
  await store.run(retimeScript, shard, [now ?? '', book().version, '1', 0])
  return true
}

/** `changed`: the book was changed again; `left`: some buckets keep their limit. */
async function retimeSome(
  store: Store,
  shard: number,
  book: () => LayeredBook,
  which: 'due' | 'all' | 'totals',
  now: number | undefined,
): Promise<'done' | 'changed' | 'left'> {
  let outcome: 'done' | 'left' = 'done'
  let cursor = '0'
  do {
    const { next, ruled: stale } = await store.run(staleScript, shard, [which, cursor])
    const ruled = stale.flatMap(({ key, pattern, limit }): Ruled[] => {
      const found = ruledBy(book(), key)
      // One whose rule is unchanged gets the version when it is next written.
      if (found === undefined) return []
      const { rule, totals } = found
      const ruledAs = which === 'totals' ? limitValue(rule.limit) : ruleText(rule.limit, totals)
      return rule.pattern === pattern && ruledAs === limit ? [] : [{ key, rule, totals }]
    })
    const unknown = ruled.filter(({ rule }) => zoneUnknownHere(rule.limit) !== undefined)
    const known = ruled.filter(({ rule }) => zoneUnknownHere(rule.limit) === undefined)
    // Apart from the others, which must not keep their limits where this fails.
    const applied = await apply(store, shard, book, unknown, now).catch((error: unknown) => {
      if (missingZone(error) === undefined) throw error
      outcome = 'left'
      return true
    })
    if (!applied || !(await apply(store, shard, book, known, now))) return 'changed'
    cursor = next
  } while (cursor !== '0')
  return outcome
}

async function apply(
  store: Store,
  shard: number,
  book: () => LayeredBook,
  ruled: readonly Ruled[],
  now: number | undefined,
): Promise<boolean> {
  const most = ruled.some(({ totals }) => totals.length > 0) ? MOST_BELOW_TOTALS : MOST_RETIMED
  for (let from = 0; from < ruled.length; from += most) {
    const some = ruled.slice(from, from + most)
    const rules = some.flatMap(({ key, rule, totals }) => [key, ...ruleValues(rule, totals)])
    const found = await store.run(retimeScript, shard, [
      now ?? '',
      book().version,
      '0',
      some.length,
      ...rules,
    ])
    if (found.kind !== 'ok') return false
  }
  return true
}
