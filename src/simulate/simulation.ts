import type { RuleBook } from '../core/rule-book.ts'
import type { Arrival } from './arrival.ts'
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

/** Runs the algorithm of velvet-rope in virtual time: arrivals in, verdicts and departures out, without a clock. */
export class Simulation {
  readonly #limits: RuleBook
  readonly #lines: LiveKeys<KeyLine>
  readonly #summary = new SummaryBuilder()
  #spread: Spread | undefined

  /** @param handlerTime how long a handler holds its place, in microseconds; only limits with `at once` ask for it */
  constructor(limits: RuleBook, handlerTime = 0) {
    this.#limits = limits
    this.#lines = new LiveKeys({
      create: (key) => new KeyLine(this.#limits.resolve(key).limit, handlerTime),
      isOver: (line, now) => line.isOver(now),
    })
  }

  /** Buckets currently in use. */
  get liveBuckets(): number {
    return this.#lines.size
  }

  /** Undefined before the first arrival. */
  get spread(): Spread | undefined {
    return this.#spread
  }

  /**
   * Judges the next arrival; arrivals must be in the order of time.
   *
   * @throws NoLimitError if no limit applies to its key
   */
  offer(arrival: Arrival): Outcome {
    const { at, key, cost, costs } = arrival
    const line = this.#lines.get(key, at)
    const outcome = line.offer(cost, at, costs)
    this.#summary.add(arrival, outcome, line)
    this.#spread ??= spreadFrom(at, line.limit.interval)
    if (outcome.accepted) {
      this.#spread.accepted.add(at, 1)
      this.#spread.departures.add(outcome.departsAt, 1)
    } else {
      this.#spread.rejected.add(at, 1)
    }
    return outcome
  }

  summary(): Summary {
    return this.#summary.build()
  }
}

function spreadFrom(at: number, interval: number): Spread {
  return {
    accepted: new TimeBins(at, interval),
    rejected: new TimeBins(at, interval),
    departures: new TimeBins(at, interval),
  }
}
