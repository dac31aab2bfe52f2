import type { FlowTotals } from '../../../core/line-view.ts'

/** Rates per second since the previous sample; null where they are unknown. */
export interface FlowSample {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly arrivals: number | null
  readonly departures: number | null
  readonly refused: number | null
}

type Moment = Required<FlowTotals>

/** The longest time over which an average is drawn. */
const LONGEST_GAP_MS = 15_000

/** Rates over the last minutes, computed from growing totals. */
export class FlowHistory {
  readonly #keptMs: number
  #last: Moment | undefined
  #samples: FlowSample[] = []

  constructor(keptMs: number) {
    this.#keptMs = keptMs
  }

  get samples(): readonly FlowSample[] {
    return this.#samples
  }

  /** @returns whether there is a new sample */
  push(now: FlowTotals): boolean {
    const { at } = now
    const before = this.#last
    if (before !== undefined && at <= before.at) return false
    this.#last = now
    if (before === undefined) return false
    const kept = this.#samples.filter((sample) => sample.at >= at - this.#keptMs)
    this.#samples = [...kept, sampleBetween(before, now)]
    return true
  }

  latest(): FlowSample | undefined {
    return this.#samples.at(-1)
  }
}

/** The rates between two totals. Arrivals are all requests, accepted or refused. */
export function sampleBetween(before: Moment, now: Moment): FlowSample {
  const admitted = now.admitted - before.admitted
  const departures = now.departed - before.departed
  const refused = now.rejected - before.rejected
  const { at } = now
  // Totals that decrease come from another run of the service.
  if (admitted < 0 || departures < 0 || refused < 0 || at - before.at > LONGEST_GAP_MS) {
    return { at, arrivals: null, departures: null, refused: null }
  }
  const perSecond = 1_000 / (at - before.at)
  return {
    at,
    arrivals: (admitted + refused) * perSecond,
    departures: departures * perSecond,
    refused: refused * perSecond,
  }
}

interface Range {
  readonly least: number
  readonly most: number
  readonly mean: number
}

/** Summarises values for screen readers. */
export function rangeOf(values: readonly (number | null)[]): Range | undefined {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return undefined
  const sum = known.reduce((total, value) => total + value, 0)
  return { least: Math.min(...known), most: Math.max(...known), mean: sum / known.length }
}
