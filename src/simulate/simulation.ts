import { nameOfQuota } from '../core/quota-input.ts'
import type { RuleBook } from '../core/rule-book.ts'
import type { Arrival } from './arrival.ts'
import type { FamilyBook } from './family-book.ts'
import { KeyLine, type Outcome } from './key-line.ts'
import { LiveKeys } from './live-keys.ts'
import { type Summary, SummaryBuilder } from './summary.ts'
import { TimeBins } from './time-bins.ts'

/** Arrivals, departures and waiting jobs over time: jobs per column. */
export interface Spread {
  readonly accepted: TimeBins
  readonly rejected: TimeBins
  readonly departures: TimeBins
}

/** Takes the outcome of an arrival, in the order of arrivals, once it is known. */
export type OnOutcome = (arrival: Arrival, outcome: Outcome) => void

/** Arrivals that run through limits in virtual time. */
export interface SimulatedLines {
  /** Undefined before the first arrival. */
  readonly spread: Spread | undefined
  /** What happens below totals; only where the limits have some. */
  readonly families?: FamilyBook
  /**
   * Judges the next arrival; arrivals must be in the order of time.
   *
   * @throws NoLimitError if no limit applies to its key
   */
  offer(arrival: Arrival): unknown
  /** No further arrival comes: lets all that wait depart. */
  finish(): void
  summary(): Summary
}

/**
 * Runs the algorithm of velvet-rope in virtual time: arrivals in, verdicts and departures out, without a clock. Each key is by itself:
 * it knows no totals.
 */
export class Simulation implements SimulatedLines {
  readonly #limits: RuleBook
  readonly #lines: LiveKeys<KeyLine>
  readonly #summary = new SummaryBuilder()
  readonly #onOutcome: OnOutcome | undefined
  #spread: Spread | undefined

  /** @param handlerTime how long a handler holds its place, in microseconds; only limits with `at once` ask for it */
  constructor(limits: RuleBook, handlerTime = 0, onOutcome?: OnOutcome) {
    this.#limits = limits
    this.#onOutcome = onOutcome
    this.#lines = new LiveKeys({
      create: (key) => new KeyLine(this.#limits.resolve(key).limit, handlerTime),
      isOver: (line, now) => line.isOver(now),
    })
  }

  /** Buckets currently in use. */
  get liveBuckets(): number {
    return this.#lines.size
  }

  get spread(): Spread | undefined {
    return this.#spread
  }

  offer(arrival: Arrival): Outcome {
    const { at, key, cost, costs } = arrival
    const line = this.#lines.get(key, at)
    const outcome = line.offer(cost, at, costs)
    this.#summary.arrived(arrival)
    this.#spread ??= spreadFrom(at, line.limit.interval)
    if (outcome.accepted) {
      this.#summary.departed(at, outcome.departsAt, outcome.holds)
      this.#summary.filled(key, line.waiting, line.limit.capacity, at)
      this.#spread.accepted.add(at, 1)
      this.#spread.departures.add(outcome.departsAt, 1)
    } else {
      const { reason, exceeded } = outcome
      this.#summary.rejected(reason, exceeded && nameOfQuota(exceeded))
      this.#spread.rejected.add(at, 1)
    }
    this.#onOutcome?.(arrival, outcome)
    return outcome
  }

  /** Does nothing: the departure of a job was known when it was accepted. */
  finish(): void {}

  summary(): Summary {
    return this.#summary.build()
  }
}

export function spreadFrom(at: number, interval: number): Spread {
  return {
    accepted: new TimeBins(at, interval),
    rejected: new TimeBins(at, interval),
    departures: new TimeBins(at, interval),
  }
}
