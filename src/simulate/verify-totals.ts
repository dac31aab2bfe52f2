import { checkHistory } from '../conformance/conformance.ts'
import type { Breach, CheckOptions, HistoryEvent } from '../conformance/history.ts'
import { isTotal } from '../core/key.ts'
import type { RuleBook, TotalRule } from '../core/rule-book.ts'
import type { DepartureRow } from './read-departures.ts'
import { ROUNDING } from './rebuild-history.ts'

/** At each start of a family every child is looked at: beyond so many looks a family is left out. */
const MOST_LOOKS = 1e8

/** What was found about the totals of a file. */
export interface TotalsVerification {
  /** All totals that are checked. */
  readonly totals: readonly TotalRule[]
  /** The outermost totals of families that are too large to be checked. */
  readonly leftOut: readonly string[]
  readonly breaches: readonly Breach[]
}

interface Family {
  readonly totals: Map<string, TotalRule>
  readonly keys: Set<string>
  readonly rows: DepartureRow[]
}

/**
 * Checks the totals above the keys of a departures file, family by family: spacing, quotas and places of each sum, and with arrivals how
 * much waits and who got what.
 */
export function verifyTotals(
  rows: readonly DepartureRow[],
  limits: RuleBook,
  options: CheckOptions & { readonly hasEnds: boolean },
): TotalsVerification {
  const families = [...familiesOf(rows, limits)]
  const isSmall = (family: Family) => family.keys.size * family.rows.length <= MOST_LOOKS
  const checked = families.filter(([, family]) => isSmall(family)).map(([, family]) => family)
  return {
    totals: checked.flatMap(({ totals }) => [...totals.values()]),
    leftOut: families.flatMap(([path, family]) => (isSmall(family) ? [] : [path])),
    breaches: checked.flatMap((family) =>
      checkHistory(historyOf(family, limits, options.hasEnds), options).filter(isOfTotal),
    ),
  }
}

function isOfTotal({ law, key }: Breach): boolean {
  return law === 'L12' || (key !== undefined && isTotal(key))
}

/** By the outermost total. */
function familiesOf(rows: readonly DepartureRow[], limits: RuleBook): Map<string, Family> {
  const families = new Map<string, Family>()
  for (const row of rows) {
    const chain = limits.totalsOf(row.key)
    const [outermost] = chain
    if (outermost === undefined) continue
    const known = families.get(outermost.path)
    const family: Family = known ?? { totals: new Map(), keys: new Set(), rows: [] }
    families.set(outermost.path, family)
    family.keys.add(row.key)
    family.rows.push(row)
    for (const total of chain) family.totals.set(total.path, total)
  }
  return families
}

/** An event, and its place among those of about the same time. */
interface Placed {
  readonly time: number
  readonly line: number
  readonly step: number
  readonly event: HistoryEvent
}

/** Refusals are left out: a key alone may be the reason. */
function historyOf({ totals, keys, rows }: Family, limits: RuleBook, hasEnds: boolean): HistoryEvent[] {
  const placed = rows
    .flatMap((row) => eventsOf(row, hasEnds))
    .sort((one, other) => one.time - other.time || one.line - other.line || one.step - other.step)
  const at = placed[0]?.event.at ?? 0
  const ofTotals = [...totals.values()].map(({ path, limit }) => ({ key: path, limit }))
  const ofKeys = [...keys].map((key) => ({ key, limit: limits.resolve(key).limit }))
  return [
    ...[...ofTotals, ...ofKeys].map((rule) => ({ type: 'limit' as const, at, ...rule })),
    ...placed.map(({ event }) => event),
  ]
}

/**
 * Of what six decimals do not tell apart, a departure and an end come before the arrivals for which they may have made room. A job that
 * departs as it arrives does so before the next row.
 */
function eventsOf(row: DepartureRow, hasEnds: boolean): Placed[] {
  const { line, key, cost, costs, departsAt, settled } = row
  if (departsAt === undefined) return []
  const id = `line ${line}`
  const job = { id, key, cost, ...(costs && { costs }) }
  const arrivedAt = row.at ?? departsAt
  const startsAt = departsAt - arrivedAt > 2 * ROUNDING ? departsAt - ROUNDING : arrivedAt
  // Before a start to which it gave its place, too.
  const after = (at: number) => (at - departsAt > 4 * ROUNDING ? at - 2 * ROUNDING : startsAt)
  const end = row.endsAt ?? (hasEnds ? undefined : (settled?.at ?? departsAt))
  const events: Placed[] = [
    {
      time: arrivedAt,
      line,
      step: 0,
      event: { type: 'answer', at: arrivedAt, ...job, accepted: true, departsAt },
    },
    { time: startsAt, line, step: 1, event: { type: 'start', at: departsAt, ...job, attempt: 1 } },
  ]
  if (settled !== undefined) {
    const { at, amounts } = settled
    events.push({ time: after(at), line, step: 2, event: { type: 'settle', at, id, key, amounts } })
  }
  if (end !== undefined) {
    events.push({
      time: after(end),
      line,
      step: 3,
      event: { type: 'end', at: end, id, outcome: 'completed' },
    })
  }
  return events
}
