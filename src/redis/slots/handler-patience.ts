import { MILLISECOND, SECOND } from '../../core/duration.ts'
import type { HandlerShares } from '../../core/handler-shares.ts'
import type { Delivery } from '../transport/transport.ts'

/** A job that waits longer for a handler goes back into its line: another worker may have one. */
const LONGEST = SECOND
/** Where a handler has started or ended so lately, one may end soon. */
const LATELY = SECOND / 2
/** How long a job stays that was given back before and came again, and how much longer each further time. */
const SECOND_STAY = 5 * MILLISECOND
const GROWTH = 1.5
/** A worker that has no free handler and gives a job back takes no deliveries for so long: other workers are to have them. */
const REST = SECOND / 2
/** But not for so long after a job has come again and again: the others have no handler for it either. */
const NO_REST = SECOND
/** It has where it stays so long: each delivery that was already under way when a rest began may bring it once more. */
const AGAIN_AND_AGAIN = 20 * MILLISECOND
/** A worker gives back so many jobs a second at once, and so many together. */
const PER_SECOND = 100
const TOGETHER = 10
/** Jobs that came back to this worker are remembered for so long, and so many of them. */
const REMEMBERED = 10 * SECOND
const MOST_REMEMBERED = 1_000

interface Return {
  readonly at: number
  /** How long the job stays the next time. */
  readonly stay: number
}

/**
 * How long jobs wait in a worker for a handler: a second at most. In three cases a job goes back earlier, because another worker may have
 * a handler for it. In the first two, no handler has started or ended lately. First: all handlers are taken, and the segment of the job
 * has less than its share of them. Second: handlers are free but withheld from its key. Third: the job went back before, and comes again
 * while the worker rests. A job that comes again and again waits longer each time, so one for which no worker has a handler is seldom
 * carried. Pure: `now` is an argument, in microseconds.
 */
export class HandlerPatience {
  readonly #shares: Pick<HandlerShares, 'lacks' | 'free'>
  readonly #onRested: () => void
  /** By id, in the order of their last return. */
  readonly #returns = new Map<string, Return>()
  #movedAt = Number.NEGATIVE_INFINITY
  #restUntil = Number.NEGATIVE_INFINITY
  #noRestUntil = Number.NEGATIVE_INFINITY
  /** The slot of the next job that goes back before its time. */
  #next = Number.NEGATIVE_INFINITY

  /** @param onRested called when a rest ends before its time */
  constructor(shares: Pick<HandlerShares, 'lacks' | 'free'>, onRested: () => void) {
    this.#shares = shares
    this.#onRested = onRested
  }

  /** Jobs that are remembered. */
  get size(): number {
    return this.#returns.size
  }

  /** A handler of the worker has started or ended, or is about to start: its job has a slot. */
  moved(now: number): void {
    this.#movedAt = now
    this.#endRest()
  }

  /** Until when the worker takes no more deliveries. */
  get restUntil(): number {
    return this.#restUntil
  }

  /** Until when the job waits that has waited since then. What ends meanwhile may move it. */
  until({ id, key }: Pick<Delivery, 'id' | 'key'>, since: number): number {
    const longest = since + LONGEST
    const before = this.#returns.get(id)
    // Its delivery was under way when the rest began.
    const isToRest = before !== undefined && since < this.#restUntil
    // Handlers that are free, and do not take the job, are withheld for other keys.
    const isElsewhereBetter = isToRest || this.#shares.free > 0 || this.#shares.lacks(key)
    if (!isElsewhereBetter) return longest
    const stay = before?.stay ?? 0
    const paced = this.#next - (TOGETHER - 1) * (SECOND / PER_SECOND)
    return Math.min(longest, Math.max(since + stay, this.#movedAt + LATELY, paced))
  }

  /** The job goes back; returns whether before its time, at once. */
  goesBack({ id }: Pick<Delivery, 'id'>, since: number, now: number): boolean {
    const stay = this.#returns.get(id)?.stay ?? 0
    this.#returns.delete(id)
    this.#returns.set(id, { at: now, stay: Math.min(LONGEST, Math.max(SECOND_STAY, GROWTH * stay)) })
    this.#forget(now)
    const isEarly = now < since + LONGEST
    if (isEarly) this.#next = Math.max(this.#next, now) + SECOND / PER_SECOND
    // No rest: other keys may use the free handlers.
    if (this.#shares.free > 0) return isEarly
    if (stay >= AGAIN_AND_AGAIN) {
      this.#noRestUntil = now + NO_REST
      this.#endRest()
    } else if (now >= this.#noRestUntil) this.#restUntil = now + REST
    return isEarly
  }

  #endRest(): void {
    this.#restUntil = Number.NEGATIVE_INFINITY
    this.#onRested()
  }

  #forget(now: number): void {
    for (const [id, { at }] of this.#returns) {
      if (this.size <= MOST_REMEMBERED && now - at < REMEMBERED) return
      this.#returns.delete(id)
    }
  }
}
