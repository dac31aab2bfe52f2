import { setTimeout as passMs } from 'node:timers/promises'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'

/** Records of buckets that one slice looks at: somewhat less than a millisecond in Redis. */
export const SLICE_SIZE = 200

/** So many slices, of about a millisecond in Redis, are asked for without a pause. */
const FAST_SLICES = 40
const SHORTEST_PAUSE_MS = 1
const LONGEST_PAUSE_MS = 50

/** Pauses between the slices of a long walk, so that it takes only a share of Redis and of this process. */
export class PacedSlices {
  readonly #share: number
  #slices = 0

  /** @param share how many times as long as a slice took the pause after it is */
  constructor(share = 2) {
    this.#share = share
  }

  /** Asks for a slice, and pauses after it if there were many. */
  async next<Answer>(slice: () => Promise<Answer>): Promise<Answer> {
    const askedAt = monotonicNow()
    const answer = await slice()
    if (++this.#slices <= FAST_SLICES) return answer
    const pauseMs = (this.#share * (monotonicNow() - askedAt)) / MILLISECOND
    await passMs(Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, pauseMs)), undefined, { ref: false })
    return answer
  }
}
