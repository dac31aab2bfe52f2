import type { AnswerEvent, HistoryEvent } from '../conformance/history.ts'
import { DueHeap } from '../core/due-heap.ts'
import type { Limit } from '../core/limit.ts'
import { advance } from '../core/projection.ts'
import { NANOSECOND } from './arrival.ts'
import type { DepartureRow } from './read-departures.ts'

/** Times closer than this are equal in six decimals: each is off by up to half a microsecond, plus rounding. */
export const ROUNDING = 1 + NANOSECOND

/**
 * Rebuilds the history of one key from its rows of a departures file, in order. Where the file says of no attempt when it ended,
 * each counts as ending when it starts, or when it is settled; else those without an end go on.
 */
export function rebuildHistory(
  key: string,
  limit: Limit,
  rows: readonly DepartureRow[],
  hasEnds: boolean,
): HistoryEvent[] {
  const starts = exactStarts(limit, rows)
  const first = Math.min(...[starts[0]?.at, rows[0]?.at].filter((at) => at !== undefined))
  const events: HistoryEvent[] = [{ type: 'limit', at: first, key, limit }]
  const afterwards = new Afterwards(events)
  // When a place is free depends on handlers, which a verdict cannot know.
  const estimate = limit.concurrency < Number.POSITIVE_INFINITY && ({ isEstimate: true } as const)
  let departed = 0
  const emitStarts = (hasLeft: (start: Start) => boolean): void => {
    for (; departed < starts.length && hasLeft(starts[departed]!); departed++) {
      const { at, row } = starts[departed]!
      const { cost, costs, settled, endsAt } = row
      const id = nameOf(row)
      afterwards.emitUntil(at)
      events.push({ type: 'start', at, id, key, cost, ...(costs && { costs }), attempt: 1 })
      if (settled !== undefined) {
        const { amounts } = settled
        afterwards.add({ type: 'settle', at: Math.max(at, settled.at), id, key, amounts })
      }
      const end = endsAt ?? (hasEnds ? undefined : (settled?.at ?? at))
      if (end !== undefined) afterwards.add({ type: 'end', at: Math.max(at, end), id, outcome: 'completed' })
    }
  }
  for (const row of arrivalsOf(rows, starts)) {
    emitStarts((start) => hasLeftBefore(start, row))
    afterwards.emitUntil(row.at)
    events.push({ ...verdictEvent(key, row), ...estimate })
  }
  emitStarts(() => true)
  afterwards.emitUntil(Number.POSITIVE_INFINITY)
  return events
}

/** What follows starts: adds it to the events in the order of time. */
class Afterwards {
  readonly #events: HistoryEvent[]
  readonly #later = new DueHeap<{ handle: number; readonly event: HistoryEvent }>()

  constructor(events: HistoryEvent[]) {
    this.#events = events
  }

  add(event: HistoryEvent): void {
    this.#later.set({ handle: -1, event }, event.at)
  }

  /** What six decimals do not tell apart from `at` came before: it may have made room. */
  emitUntil(at: number): void {
    while (this.#later.earliest <= at + ROUNDING) {
      const entry = this.#later.peek()
      if (entry === undefined) return
      this.#later.remove(entry)
      this.#events.push({ ...entry.event, at: Math.min(entry.event.at, at) })
    }
  }
}

interface Start {
  readonly at: number
  readonly row: DepartureRow
}

/** A row with its arrival; without one in the file, it counts as arriving when it departs. */
type ArrivedRow = DepartureRow & { readonly at: number }

function arrivalsOf(rows: readonly DepartureRow[], starts: readonly Start[]): readonly ArrivedRow[] {
  const isArrived = (row: DepartureRow): row is ArrivedRow => row.at !== undefined
  return rows.every(isArrived) ? rows : starts.map(({ at, row }) => ({ ...row, at }))
}

/**
 * The starts by time. A slot at a third of a second is written with six decimals; if the written time equals the
 * expected slot, the exact slot is used, so that its order among the arrivals is known.
 */
function exactStarts(limit: Limit, rows: readonly DepartureRow[]): Start[] {
  const projection = { slot: Number.NEGATIVE_INFINITY, warmth: 0 }
  const starts: Start[] = []
  for (const row of rows) {
    if (row.departsAt === undefined) continue
    const slot = Math.max(row.at ?? Number.NEGATIVE_INFINITY, projection.slot)
    const at = Math.abs(slot - row.departsAt) <= ROUNDING ? slot : row.departsAt
    // A start that is too early is a breach, and the next is counted from it all the same.
    projection.slot = Math.min(projection.slot, at)
    advance(projection, limit, { cost: row.cost, readyAt: at })
    starts.push({ at, row })
  }
  return starts.sort((a, b) => a.at - b.at)
}

/**
 * Whether a start came before an arrival. If six decimals leave that open, the verdict decides: an accepted job found
 * the place empty, a rejected one did not.
 */
function hasLeftBefore(start: Start, arrival: ArrivedRow): boolean {
  const isEarlierRow = start.row.line < arrival.line
  const ahead = arrival.at - start.at
  if (!isEarlierRow) return ahead > 0 && start.at < (start.row.at ?? start.at) - ROUNDING
  if (Math.abs(ahead) <= NANOSECOND) return true
  if (Math.abs(ahead) <= ROUNDING) return arrival.departsAt !== undefined
  return ahead > 0
}

function verdictEvent(key: string, row: ArrivedRow): AnswerEvent {
  const { at, cost, costs, departsAt, retryAt } = row
  const about = { type: 'answer', at, id: nameOf(row), key, cost, ...(costs && { costs }) } as const
  if (departsAt !== undefined) return { ...about, accepted: true, departsAt }
  if (retryAt !== undefined) return { ...about, accepted: false, reason: 'full', retryAt }
  return { ...about, accepted: false, reason: 'too-costly', retryAt: Number.POSITIVE_INFINITY }
}

function nameOf(row: DepartureRow): string {
  return `line ${row.line}`
}
