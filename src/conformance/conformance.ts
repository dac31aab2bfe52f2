/**
 * Checks a recorded history against the laws: L1 (bound), L2 (spacing), L3 (rate), L4 (order), L5 (nothing lost,
 * nothing twice), L9 (conservation), L10 (quotas), L11 (attempts at once), L12 (fair shares of a total) and L13 (longest waits), and
 * reports every breach with its numbers. It knows nothing of the algorithm that it checks: it shares the terms of the limit with it, but no code that
 * computes.
 *
 * One pass for the keys, and one for each time that a total was set: a ledger follows the events, and each law sees every event first.
 * The history must be in chronological order. Time and memory grow linearly with its length, apart from sorting; for a total, with the number of its
 * children at each start.
 */

import { bound } from './bound.ts'
import { concurrency } from './concurrency.ts'
import { conservation } from './conservation.ts'
import { Fairness } from './fairness.ts'
import type { Breach, CheckOptions, HistoryEvent } from './history.ts'
import type { OpenCheck } from './law.ts'
import { Ledger } from './ledger.ts'
import { longestWait } from './longest-wait.ts'
import { loss } from './loss.ts'
import { order } from './order.ts'
import { promise } from './promise.ts'
import { quota } from './quota.ts'
import { rate } from './rate.ts'
import { spacing } from './spacing.ts'
import { asOneKey, periodsIn, untilEndOf } from './totals.ts'

const LAWS: readonly OpenCheck[] = [
  bound,
  promise,
  spacing,
  rate,
  order,
  loss,
  conservation,
  quota,
  concurrency,
  longestWait,
]

/**
 * What holds for the sum of a family as it does for a key, from the first limit of the total until it is unset: it may be set while its
 * family is at work, and counts what waits and runs then.
 */
const LAWS_OF_TOTALS: readonly OpenCheck[] = [bound, spacing, quota, concurrency]

/** Returns every breach of a law in `history`, by time; an empty list if it conforms. */
export function checkHistory(history: readonly HistoryEvent[], options: CheckOptions = {}): Breach[] {
  const breaches = judge(history, LAWS, options)
  for (const period of periodsIn(history)) {
    const { total } = period
    breaches.push(...judge(asOneKey(untilEndOf(history, period), total), LAWS_OF_TOTALS, options, false))
    const fairness = new Fairness(total, options.handed)
    for (const event of untilEndOf(history, period)) fairness.see(event)
    breaches.push(...fairness.breaches)
  }
  return breaches.sort((a, b) => a.at - b.at)
}

function judge(
  history: Iterable<HistoryEvent>,
  laws: readonly OpenCheck[],
  options: CheckOptions,
  isFromFirst = true,
): Breach[] {
  const breaches: Breach[] = []
  const ledger = new Ledger(options.settle ?? 0, options.lag ?? 0, options.midway ?? false)
  const checks = laws.map((law) => law(ledger, options, (breach) => void breaches.push(breach)))
  let isJudged = isFromFirst
  for (const event of history) {
    isJudged ||= event.type === 'limit'
    if (isJudged) for (const check of checks) check.see(event)
    ledger.apply(event)
  }
  for (const check of checks) check.finish?.()
  return breaches
}
