import { SECOND } from '../core/duration.ts'
import type { RejectReason } from '../core/verdict.ts'
import type { Arrival } from './arrival.ts'
import type { Hold } from './departure-plan.ts'
import type { TotalSummary } from './family-summary.ts'
import { summarizeWaits, type WaitSummary } from './waits.ts'

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
  readonly waitMs: WaitSummary
  /** The fullest bucket at any moment, and the first such moment; null if no job had to wait. */
  readonly fullestBucket: FullestBucket | null
  /** What kept accepted jobs at the head of their lines, the longest first; only where a limit has several parts. */
  readonly heldBack?: readonly HeldBack[]
  /** Seconds, in the time of the input; null when there were no arrivals or no departures. */
  readonly firstArrivalS: number | null
  readonly lastArrivalS: number | null
  readonly lastDepartureS: number | null
  /** Only where a total governs some key: the ten with most arrivals. */
  readonly totals?: readonly TotalSummary[]
  /** How many other totals there were. */
  readonly furtherTotals?: number
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

  arrived({ at, key }: Arrival): void {
    this.#keys.add(key)
    this.#firstArrival ??= at
    this.#lastArrival = at
  }

  /** @param exceeded the quota that the job alone exceeds, if it is too costly and not for the capacity */
  rejected(reason: RejectReason, exceeded = CAPACITY): void {
    if (reason !== 'too-costly') {
      this.#rejections.full++
      return
    }
    this.#rejections['too-costly']++
    this.#tooCostly.set(exceeded, (this.#tooCostly.get(exceeded) ?? 0) + 1)
  }

  departed(arrivedAt: number, departsAt: number, holds: readonly Hold[] = []): void {
    this.#waits.push(departsAt - arrivedAt)
    for (const { part, time } of holds) {
      const { jobs: held, time: known } = this.#held.get(part) ?? { jobs: 0, time: 0 }
      this.#held.set(part, { jobs: held + 1, time: known + time })
    }
    this.#lastDeparture = Math.max(this.#lastDeparture ?? 0, departsAt)
  }

  /** So many units wait in the line of the key. */
  filled(key: string, waiting: number, capacity: number, at: number): void {
    if (waiting / capacity > (this.#fullest?.fill ?? 0)) {
      this.#fullest = { key, waiting, capacity, fill: waiting / capacity, atS: at / SECOND }
    }
  }

  build(): Summary {
    const rejected = this.#rejections.full + this.#rejections['too-costly']
    const accepted = this.#waits.length
    return {
      arrivals: accepted + rejected,
      accepted,
      rejected,
      rejections: { ...this.#rejections },
      ...([...this.#tooCostly.keys()].some((part) => part !== CAPACITY) && {
        tooCostlyFor: [...this.#tooCostly].map(([part, jobs]) => ({ part, jobs })),
      }),
      keys: this.#keys.size,
      waitMs: summarizeWaits(this.#waits),
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

function inSeconds(at: number | undefined): number | null {
  return at === undefined ? null : Math.round(at) / SECOND
}
