import { MILLISECOND, SECOND } from '../core/duration.ts'
import type { Quota } from '../core/quota.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import type { Arrival } from './arrival.ts'
import type { KeyLine, Outcome } from './key-line.ts'

/** The result of all arrivals, as `--json` prints it. */
export interface Summary {
  readonly arrivals: number
  readonly accepted: number
  readonly rejected: number
  /** Rejected jobs by reason: the line was full, or the job alone exceeds the capacity or a quota, and can never fit. */
  readonly rejections: { readonly full: number; readonly 'too-costly': number }
  /** What each job that was too costly exceeds alone; only where that is a quota of any of them. */
  readonly tooCostlyFor?: readonly { readonly part: string; readonly jobs: number }[]
  /** Number of distinct keys. */
  readonly keys: number
  /** From arrival to departure of accepted jobs, in milliseconds; null if there were none. */
  readonly waitMs: { readonly [name in 'p50' | 'p90' | 'p99' | 'max']: number | null }
  /** The fullest bucket at any moment, and the first such moment; null if no job had to wait. */
  readonly fullestBucket: FullestBucket | null
  /** What kept accepted jobs at the head of their lines, the longest first; only where a limit has several parts. */
  readonly heldBack?: readonly HeldBack[]
  /** Seconds, in the time of the input; null when there were no arrivals or no departures. */
  readonly firstArrivalS: number | null
  readonly lastArrivalS: number | null
  readonly lastDepartureS: number | null
}

export interface FullestBucket {
  readonly key: string
  /** Cost units. */
  readonly waiting: number
  readonly capacity: number
  /** Share of the capacity, 0 to 1. */
  readonly fill: number
  readonly atS: number
}

/** How many jobs a part of a limit kept at the head of their lines, and for how long all together. */
export interface HeldBack {
  /** `pace`, a quota as text, or `50 at once`. */
  readonly part: string
  readonly jobs: number
  readonly seconds: number
}

const CAPACITY = 'capacity'

export class SummaryBuilder {
  // Names only: the states of keys are elsewhere and are deleted.
  readonly #keys = new Set<string>()
  readonly #waits: number[] = []
  readonly #rejections = { full: 0, 'too-costly': 0 }
  readonly #held = new Map<string, { jobs: number; time: number }>()
  /** Jobs that were too costly, by the part of the limit that they exceed. */
  readonly #tooCostly = new Map<string, number>()
  #fullest: FullestBucket | null = null
  #firstArrival: number | undefined
  #lastArrival: number | undefined
  #lastDeparture: number | undefined

  add(arrival: Arrival, outcome: Outcome, line: KeyLine): void {
    const { at, key } = arrival
    this.#keys.add(key)
    this.#firstArrival ??= at
    this.#lastArrival = at
    if (!outcome.accepted) {
      if (outcome.reason === 'too-costly') this.#addTooCostly(outcome.exceeded)
      else this.#rejections.full++
      return
    }
    this.#waits.push(outcome.departsAt - at)
    for (const { part, time } of outcome.holds ?? []) {
      const { jobs: held, time: known } = this.#held.get(part) ?? { jobs: 0, time: 0 }
      this.#held.set(part, { jobs: held + 1, time: known + time })
    }
    this.#lastDeparture = Math.max(this.#lastDeparture ?? 0, outcome.departsAt)
    const { waiting } = line
    const { capacity } = line.limit
    if (waiting / capacity > (this.#fullest?.fill ?? 0)) {
      this.#fullest = { key, waiting, capacity, fill: waiting / capacity, atS: at / SECOND }
    }
  }

  #addTooCostly(exceeded: Quota | undefined): void {
    this.#rejections['too-costly']++
    const part = exceeded === undefined ? CAPACITY : nameOfQuota(exceeded)
    this.#tooCostly.set(part, (this.#tooCostly.get(part) ?? 0) + 1)
  }

  build(): Summary {
    const rejected = this.#rejections.full + this.#rejections['too-costly']
    const waits = Float64Array.from(this.#waits).sort()
    return {
      arrivals: waits.length + rejected,
      accepted: waits.length,
      rejected,
      rejections: { ...this.#rejections },
      ...([...this.#tooCostly.keys()].some((part) => part !== CAPACITY) && {
        tooCostlyFor: [...this.#tooCostly].map(([part, jobs]) => ({ part, jobs })),
      }),
      keys: this.#keys.size,
      waitMs: {
        p50: percentile(waits, 0.5),
        p90: percentile(waits, 0.9),
        p99: percentile(waits, 0.99),
        max: percentile(waits, 1),
      },
      fullestBucket: this.#fullest,
      ...(this.#held.size > 0 && { heldBack: this.#heldBack() }),
      firstArrivalS: inSeconds(this.#firstArrival),
      lastArrivalS: inSeconds(this.#lastArrival),
      lastDepartureS: inSeconds(this.#lastDeparture),
    }
  }

  #heldBack(): HeldBack[] {
    return [...this.#held]
      .map(([part, { jobs, time }]) => ({ part, jobs, seconds: Math.round(time) / SECOND }))
      .sort((a, b) => b.seconds - a.seconds)
  }
}

/** By nearest rank: a wait that actually occurred. Milliseconds, to the microsecond. */
function percentile(sorted: Float64Array, share: number): number | null {
  const wait = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  return wait === undefined ? null : Math.round(wait) / MILLISECOND
}

function inSeconds(at: number | undefined): number | null {
  return at === undefined ? null : Math.round(at) / SECOND
}
