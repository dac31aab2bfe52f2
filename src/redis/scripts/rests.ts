import { setTimeout as passMs } from 'node:timers/promises'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'

/** So many slices, of about a millisecond in Redis, are asked for without a rest. */
const FAST_SLICES = 40
const SHORTEST_REST_MS = 1
const LONGEST_REST_MS = 50

/** The rests of a walk that may be long, so that it has but a share of Redis and of this process. */
export class Rests {
  readonly #share: number
  #slices = 0

  /** @param share how many times as long as its slices it rests */
  constructor(share = 2) {
    this.#share = share
  }

  /** Asks for a slice, and rests after it if there were many. */
  async after<Answer>(slice: () => Promise<Answer>): Promise<Answer> {
    const askedAt = monotonicNow()
    const answer = await slice()
    if (++this.#slices <= FAST_SLICES) return answer
    const restMs = (this.#share * (monotonicNow() - askedAt)) / MILLISECOND
    await passMs(Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, restMs)), undefined, { ref: false })
    return answer
  }
}
