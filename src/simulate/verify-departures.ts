import { checkHistory } from '../conformance/conformance.ts'
import type { Breach, Law } from '../conformance/history.ts'
import type { RuleBook } from '../core/rule-book.ts'
import type { DepartureRow } from './read-departures.ts'
import { rebuildHistory } from './rebuild-history.ts'

/** The share of the configured rate that a busy bucket must reach: the minimum of the slowest backend. */
const LEAST_UTILISATION = 0.98

export interface Verification {
  readonly rows: number
  readonly keys: number
  /** The laws that the file allows to check. */
  readonly judged: readonly Law[]
  readonly breaches: readonly Breach[]
}

/**
 * Checks a departures file against the laws, key by key. Without arrivals and verdicts only the spacing of departures and quotas
 * can be checked. In a quota with a unit each job counts what the rule says: the file names no units.
 *
 * @throws NoLimitError if no limit applies to a key of the file
 */
export function verifyDepartures(rows: readonly DepartureRow[], limits: RuleBook): Verification {
  const hasArrivals = rows.some(({ at }) => at !== undefined)
  const judged: Law[] = hasArrivals ? ['L1', 'L2', 'L3', 'L4', 'L5'] : ['L2']
  // In virtual time a handler is always free, so two departures are enough to measure the rate.
  const options = hasArrivals ? { minUtilisation: LEAST_UTILISATION, shortestStretch: 2 } : { midway: true }
  const byKey = groupByKey(rows, hasArrivals)
  if ([...byKey.keys()].some((key) => limits.resolve(key).limit.quotas.length > 0)) judged.push('L10')
  const breaches: Breach[] = []
  for (const [key, ofKey] of byKey) {
    const { limit } = limits.resolve(key)
    const history = rebuildHistory(key, limit, ofKey)
    // The file does not say when handlers ended, so neither when a place was free for the next one.
    const isBound = limit.concurrency < Number.POSITIVE_INFINITY
    for (const breach of checkHistory(
      history,
      isBound ? { ...options, minUtilisation: undefined } : options,
    )) {
      if (judged.includes(breach.law)) breaches.push(breach)
    }
  }
  return {
    rows: rows.length,
    keys: byKey.size,
    judged,
    breaches: breaches.sort((a, b) => a.at - b.at),
  }
}

function groupByKey(rows: readonly DepartureRow[], hasArrivals: boolean): Map<string, DepartureRow[]> {
  const byKey = new Map<string, DepartureRow[]>()
  for (const row of rows) {
    const known = byKey.get(row.key)
    if (known === undefined) byKey.set(row.key, [row])
    else known.push(row)
  }
  // Departures without arrivals may be in any order: only their times count.
  if (!hasArrivals) for (const known of byKey.values()) known.sort((a, b) => a.departsAt! - b.departsAt!)
  return byKey
}
