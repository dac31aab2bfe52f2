import type { RuleBook } from '../core/rule-book.ts'
import type { Arrival } from './arrival.ts'
import { LiveKeys } from './live-keys.ts'
import { leftOut } from './policies/budget.ts'
import { fixedWindow } from './policies/fixed-window.ts'
import { leakyMeter } from './policies/leaky-meter.ts'
import type { Policy, PolicyState } from './policies/policy.ts'
import { slidingWindow } from './policies/sliding-window.ts'
import { tokenBucketFull, tokenBucketWarmingUp } from './policies/token-bucket.ts'
import { velvetRope } from './policies/velvet-rope.ts'
import { FARTHEST, Smoothness } from './smoothness.ts'
import { TimeBins } from './time-bins.ts'

/** The result of one policy. */
export interface PolicyResult {
  readonly policy: string
  /** Jobs that were accepted, at once or later. */
  readonly accepted: number
  readonly rejected: number
  /** The most starts of one key in any one second. */
  readonly mostStartsInOneSecond: number
  /** The smallest distance of two starts of one key, in intervals; null if no two were within ten intervals. */
  readonly smallestGapByInterval: number | null
}

/**
 * The policies in the order of the table; the last is velvet-rope.
 *
 * @param handlerTime how long a handler holds its place, in microseconds
 */
export function comparedPolicies(subBuckets: number, handlerTime = 0): readonly Policy[] {
  return [
    fixedWindow,
    slidingWindow(subBuckets),
    tokenBucketFull,
    tokenBucketWarmingUp,
    leakyMeter,
    velvetRope(handlerTime),
  ]
}

/** Applies every policy to the same arrivals under the same limits. */
export class Comparison {
  /** The parts of the limits that only velvet-rope counts, as text. */
  readonly leftOut: readonly string[]
  readonly #limits: RuleBook
  readonly #policies: readonly Policy[]
  #trials: readonly Trial[] | undefined
  #arrivals: TimeBins | undefined

  constructor(limits: RuleBook, policies: readonly Policy[]) {
    this.#limits = limits
    this.#policies = policies
    this.leftOut = leftOut(limits.list().map(({ limit }) => limit))
  }

  /**
   * @throws NoLimitError if no limit applies to the key of the arrival
   */
  offer(arrival: Arrival): void {
    const { at, key } = arrival
    if (this.#trials === undefined) {
      const { interval } = this.#limits.resolve(key).limit
      this.#arrivals = new TimeBins(at, interval)
      this.#trials = this.#policies.map(
        (policy) => new Trial(policy, this.#limits, new TimeBins(at, interval)),
      )
    }
    this.#arrivals?.add(at, 1)
    for (const trial of this.#trials) trial.offer(arrival)
  }

  results(): PolicyResult[] {
    return (this.#trials ?? []).map((trial) => trial.result())
  }

  /** Jobs per column: arrivals, and starts under each policy. Undefined before the first arrival. */
  spread(): { arrivals: TimeBins; starts: readonly TimeBins[] } | undefined {
    if (this.#arrivals === undefined || this.#trials === undefined) return undefined
    return { arrivals: this.#arrivals, starts: this.#trials.map(({ starts }) => starts) }
  }
}

interface KeyTrial {
  readonly state: PolicyState
  readonly smoothness: Smoothness
}

/** One policy applied to the arrivals of all keys. */
class Trial {
  readonly starts: TimeBins
  readonly #policy: Policy
  readonly #keys: LiveKeys<KeyTrial>
  #accepted = 0
  #rejected = 0
  #mostStarts = 0
  #smallestGap = Number.POSITIVE_INFINITY

  constructor(policy: Policy, limits: RuleBook, starts: TimeBins) {
    this.#policy = policy
    this.starts = starts
    this.#keys = new LiveKeys({
      create: (key) => {
        const { limit } = limits.resolve(key)
        return { state: policy.open(limit, starts.start), smoothness: new Smoothness(limit) }
      },
      isOver: ({ state, smoothness }, now) => state.isOver(now) && smoothness.isOver(now),
    })
  }

  offer({ at, key, cost, costs }: Arrival): void {
    const { state, smoothness } = this.#keys.get(key, at)
    const start = state.offer({ cost, costs }, at)
    if (start === undefined) {
      this.#rejected++
      return
    }
    this.#accepted++
    this.starts.add(start, 1)
    const { gap, inOneSecond } = smoothness.start(start, cost)
    this.#mostStarts = Math.max(this.#mostStarts, inOneSecond)
    this.#smallestGap = Math.min(this.#smallestGap, gap)
  }

  result(): PolicyResult {
    return {
      policy: this.#policy.name,
      accepted: this.#accepted,
      rejected: this.#rejected,
      mostStartsInOneSecond: this.#mostStarts,
      smallestGapByInterval: this.#smallestGap < FARTHEST ? Math.round(this.#smallestGap * 1e6) / 1e6 : null,
    }
  }
}
