import type { HistoryEvent } from '../conformance/history.ts'
import type { Limit } from '../core/limit.ts'
import { advance } from '../core/projection.ts'
import { NANOSECOND } from './arrival.ts'
import type { DepartureRow } from './read-departures.ts'

/** Two times that six decimals cannot tell apart: each is off by up to half a microsecond, and a little dust. */
const ROUNDING = 1 + NANOSECOND

/**
 * Rebuilds what happened to one key from its rows of a departures file, in the order in which it happened. Handlers
 * are taken to end as they start: a file of departures says nothing of them.
 */
export function rebuildHistory(key: string, limit: Limit, rows: readonly DepartureRow[]): HistoryEvent[] {
  const starts = exactStarts(limit, rows)
  const first = Math.min(...[starts[0]?.at, rows[0]?.at].filter((at) => at !== undefined))
  const events: HistoryEvent[] = [{ type: 'limit', at: first, key, limit }]
  let departed = 0
  const emitStarts = (hasLeft: (start: Start) => boolean): void => {
    for (; departed < starts.length && hasLeft(starts[departed]!); departed++) {
      const { at, row } = starts[departed]!
      const id = nameOf(row)
      events.push({ type: 'start', at, id, key, cost: row.cost, attempt: 1 })
      events.push({ type: 'end', at, id, outcome: 'completed' })
    }
  }
  for (const row of arrivalsOf(rows, starts)) {
    emitStarts((start) => hasLeftBefore(start, row))
    events.push(answer(key, row))
  }
  emitStarts(() => true)
  return events
}

interface Start {
  readonly at: number
  readonly row: DepartureRow
}

/** A row with its arrival; where the file has none, it is taken to have come when it departed. */
type ArrivedRow = DepartureRow & { readonly at: number }

function arrivalsOf(rows: readonly DepartureRow[], starts: readonly Start[]): readonly ArrivedRow[] {
  const isArrived = (row: DepartureRow): row is ArrivedRow => row.at !== undefined
  return rows.every(isArrived) ? rows : starts.map(({ at, row }) => ({ ...row, at }))
}

/**
 * The starts by time. A slot that is a third of a second is written with six decimals; where the written time is
 * that of the expected slot, the slot itself is taken, so that its order among the arrivals is known again.
 */
function exactStarts(limit: Limit, rows: readonly DepartureRow[]): Start[] {
  const projection = { slot: Number.NEGATIVE_INFINITY, warmth: 0 }
  const starts: Start[] = []
  for (const row of rows) {
    if (row.departsAt === undefined) continue
    const slot = Math.max(row.at ?? Number.NEGATIVE_INFINITY, projection.slot)
    const at = Math.abs(slot - row.departsAt) <= ROUNDING ? slot : row.departsAt
    // One that came too early is a breach, and counted from all the same.
    projection.slot = Math.min(projection.slot, at)
    advance(projection, limit, { cost: row.cost, readyAt: at })
    starts.push({ at, row })
  }
  return starts.sort((a, b) => a.at - b.at)
}

/**
 * Whether a start came before an arrival. Six decimals may leave that open; then the verdict tells: who was accepted
 * found the place empty, who was rejected did not.
 */
function hasLeftBefore(start: Start, arrival: ArrivedRow): boolean {
  const isEarlierRow = start.row.line < arrival.line
  const ahead = arrival.at - start.at
  if (!isEarlierRow) return ahead > 0 && start.at < (start.row.at ?? start.at) - ROUNDING
  if (Math.abs(ahead) <= NANOSECOND) return true
  if (Math.abs(ahead) <= ROUNDING) return arrival.departsAt !== undefined
  return ahead > 0
}

function answer(key: string, row: ArrivedRow): HistoryEvent {
  const { at, cost, departsAt, retryAt } = row
  const about = { type: 'answer', at, id: nameOf(row), key, cost } as const
  if (departsAt !== undefined) return { ...about, accepted: true, departsAt }
  if (retryAt !== undefined) return { ...about, accepted: false, reason: 'full', retryAt }
  return { ...about, accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY }
}

function nameOf(row: DepartureRow): string {
  return `line ${row.line}`
}
