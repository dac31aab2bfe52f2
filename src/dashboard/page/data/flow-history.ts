import type { FlowTotals } from '../../../core/line-view.ts'

/** What came and went per second since the moment before; null where that is not known. */
export interface FlowSample {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly arrivals: number | null
  readonly departures: number | null
  readonly refused: number | null
}

type Moment = Required<FlowTotals>

/** After a longer silence an average would be drawn as if it had been watched. */
const LONGEST_GAP_MS = 15_000

/** Rates over the last minutes, out of totals that grow. */
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

/** An arrival is whoever asked to come in, accepted or not. */
export function sampleBetween(before: Moment, now: Moment): FlowSample {
  const admitted = now.admitted - before.admitted
  const departures = now.departed - before.departed
  const refused = now.rejected - before.rejected
  const { at } = now
  // Totals that fall are those of another run of the service.
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

interface Course {
  readonly least: number
  readonly most: number
  readonly mean: number
}

/** For those who cannot see the chart. */
export function courseOf(values: readonly (number | null)[]): Course | undefined {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return undefined
  const sum = known.reduce((total, value) => total + value, 0)
  return { least: Math.min(...known), most: Math.max(...known), mean: sum / known.length }
}
