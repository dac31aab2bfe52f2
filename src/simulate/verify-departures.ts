import { checkHistory } from '../conformance/conformance.ts'
import type { Breach, HistoryEvent, Law } from '../conformance/history.ts'
import { quote } from '../core/describe.ts'
import type { Limit } from '../core/limit.ts'
import type { RuleBook } from '../core/rule-book.ts'
import type { DepartureRow } from './read-departures.ts'
import { rebuildHistory } from './rebuild-history.ts'
import { type TotalsVerification, verifyTotals } from './verify-totals.ts'

/** The share of the configured rate that a busy bucket must reach: the minimum of the slowest backend. */
const LEAST_UTILISATION = 0.98

export interface Verification {
  readonly rows: number
  readonly keys: number
  /** The laws that the file allows to check. */
  readonly judged: readonly Law[]
  /** What the file does not say, and what is not checked therefore, or taken for granted; a sentence each. */
  readonly unknown: readonly string[]
  readonly breaches: readonly Breach[]
}

/**
 * Checks a departures file against the laws, key by key. Without arrivals and verdicts only the spacing of departures, quotas and
 * places can be checked, and places only with ends. Where the file names no unit, each job counts what the rule says. Totals are
 * checked for the sum of their families, and their shares (L12). Of a key below one, neither its rate (L3) nor a refusal is judged,
 * because the total may be the reason.
 *
 * @throws NoLimitError if no limit applies to a key of the file
 */
export function verifyDepartures(rows: readonly DepartureRow[], limits: RuleBook): Verification {
  const file = aboutFile(rows)
  const byKey = groupByKey(rows, file.hasArrivals)
  const limitOf = new Map([...byKey.keys()].map((key) => [key, limits.resolve(key).limit]))
  const ends = { midway: !file.hasArrivals, unfinished: file.hasEnds }
  const ofTotals = verifyTotals(rows, limits, { ...ends, hasEnds: file.hasEnds })
  const known = [...new Set([...limitOf.values(), ...ofTotals.totals.map(({ limit }) => limit)])]
  const isShared = (key: string) => limits.totalsOf(key).length > 0
  const judged = judgedLaws(file, known).filter((law) => law !== 'L3' || ![...byKey.keys()].every(isShared))
  if (file.hasArrivals && ofTotals.totals.length > 0) judged.push('L12')
  const breaches = ofTotals.breaches.filter(({ law }) => judged.includes(law))
  for (const [key, ofKey] of byKey) {
    const limit = limitOf.get(key)!
    // Without ends it is unknown when a place was free for the next job.
    const isBusy = file.hasArrivals && (file.hasEnds || !hasPlaces(limit)) && !isShared(key)
    const rebuilt = rebuildHistory(key, limit, ofKey, file.hasEnds)
    const history = isShared(key) ? rebuilt.filter((event) => !isRefusal(event)) : rebuilt
    const found = checkHistory(history, {
      // In virtual time a handler is always free, so two departures are enough to measure the rate.
      ...(isBusy && { minUtilisation: LEAST_UTILISATION, shortestStretch: 2 }),
      ...ends,
    })
    for (const breach of found) if (judged.includes(breach.law)) breaches.push(breach)
  }
  return {
    rows: rows.length,
    keys: byKey.size,
    judged,
    unknown: [...unknownIn(file, known), ...unknownOfTotals(ofTotals)],
    breaches: breaches.sort((a, b) => a.at - b.at),
  }
}

function unknownOfTotals({ totals, leftOut }: TotalsVerification): string[] {
  const unknown: string[] = []
  if (totals.length > 0 || leftOut.length > 0)
    unknown.push(
      'a total may refuse jobs and slow keys down: refusals and the rate (L3) of keys below are not checked',
    )
  if (leftOut.length > 0) {
    const [first, ...more] = leftOut.map(quote)
    const others = more.length === 0 ? '' : ` and ${more.length} more`
    unknown.push(`too many keys and rows to check their totals: ${first}${others}`)
  }
  return unknown
}

function isRefusal(event: HistoryEvent): boolean {
  return event.type === 'answer' && !event.accepted
}

interface FileFacts {
  readonly hasArrivals: boolean
  readonly hasEnds: boolean
  /** The units that some row names. */
  readonly units: ReadonlySet<string>
}

function aboutFile(rows: readonly DepartureRow[]): FileFacts {
  const units = new Set<string>()
  for (const { costs } of rows) if (costs !== undefined) for (const unit in costs) units.add(unit)
  return {
    hasArrivals: rows.some(({ at }) => at !== undefined),
    hasEnds: rows.some(({ endsAt }) => endsAt !== undefined),
    units,
  }
}

function judgedLaws({ hasArrivals, hasEnds }: FileFacts, limits: readonly Limit[]): Law[] {
  return [
    ...(hasArrivals ? (['L1', 'L2', 'L3', 'L4', 'L5'] as const) : (['L2'] as const)),
    ...(limits.some(({ quotas }) => quotas.length > 0) ? (['L10'] as const) : []),
    ...(hasEnds && limits.some(hasPlaces) ? (['L11'] as const) : []),
  ]
}

function unknownIn({ hasArrivals, hasEnds, units }: FileFacts, limits: readonly Limit[]): string[] {
  const unknown: string[] = []
  if (!hasArrivals)
    unknown.push('the file has no columns offset_s and verdict: L1, L3, L4 and L5 are not checked')
  if (!hasEnds && limits.some(hasPlaces)) {
    const rate = hasArrivals ? ', nor the rate (L3) of keys that have them' : ''
    unknown.push(`no row has ends_s: places (L11) are not checked${rate}`)
  }
  const counted = limits.flatMap(({ quotas }) => quotas.flatMap(({ unit }) => unit ?? []))
  for (const unit of new Set(counted)) {
    if (!units.has(unit)) unknown.push(`no row has ${unit}: each job counts as many as its limit says`)
  }
  return unknown
}

function hasPlaces({ concurrency }: Limit): boolean {
  return concurrency < Number.POSITIVE_INFINITY
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
