import type { Breach, HistoryEvent } from '../../../../src/testing.ts'
import type { HistoryRecord } from '../history-file.ts'
import { totalsOf } from '../limits-of.ts'
import { judgeSharesWithin, standstillWithin } from '../shares.ts'
import type { SeededPlan } from './plan.ts'

/** With fewer handlers it is they who decide who goes. */
const MANY_HANDLERS = 50
/** After two leases of 5 s what a fault did to shares is over; microseconds. */
const TWO_LEASES = 10_000_000

/**
 * How fairly totals are shared when the last fault is two leases ago. What is handed over is bounded by the pace, and takes more of a
 * quota than of that; so totals with quotas are left out, and runs in which handlers decide who goes.
 */
export function judgeShares(
  plan: SeededPlan,
  files: ReadonlyMap<string, readonly HistoryRecord[]>,
  history: readonly HistoryEvent[],
): Breach[] {
  const totals = [...totalsOf(plan).values()]
  if (totals.length === 0 || totals.some(({ quotas }) => quotas.length > 0)) return []
  if (plan.workers.some(({ concurrency = 0 }) => concurrency < MANY_HANDLERS)) return []
  const records = [...files.values()].flat()
  if (records.some(({ kind }) => kind === 'lost' || kind === 'moved')) return []
  const ends = records.flatMap((record) =>
    record.kind === 'disturbed' || record.kind === 'stood' ? [record.until] : [],
  )
  const from = Math.max(0, ...ends.map((until) => until + TWO_LEASES))
  const never = Number.POSITIVE_INFINITY
  return judgeSharesWithin(history, from, never, standstillWithin(files, from, never))
}
