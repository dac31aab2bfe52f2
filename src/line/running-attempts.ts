import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { HandlerTimeoutError } from '../core/handler-errors.ts'
import type { Attempt } from './attempt.ts'
import type { WorkerJob } from './job.ts'

/**
 * The attempts that run, and one timer for the first that will exceed its time limit. The timer never moves later while
 * attempts run: when it fires too early it is set for the next, so that a short attempt costs no timer. They form a linked list:
 * a Set that is mostly empty makes itself anew at every second change.
 */
export class RunningAttempts<Data, Result, Job extends WorkerJob = WorkerJob>
  implements Iterable<Attempt<Data, Result, Job>>
{
  #first: Attempt<Data, Result, Job> | undefined
  #last: Attempt<Data, Result, Job> | undefined
  #size = 0
  readonly #clock: Clock
  readonly #maxTimeoutMs: number
  #armedFor = Number.POSITIVE_INFINITY
  #disarm: (() => void) | undefined

  /** @param maxTimeoutMs no attempt may take longer, whatever the time limit of its job */
  constructor(clock: Clock, maxTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#clock = clock
    this.#maxTimeoutMs = maxTimeoutMs
  }

  get size(): number {
    return this.#size
  }

  /** Counts an attempt before its start. It has no time limit until `time` is called. */
  enter(attempt: Attempt<Data, Result, Job>): void {
    attempt.before = this.#last
    if (this.#last === undefined) this.#first = attempt
    else this.#last.after = attempt
    this.#last = attempt
    this.#size++
  }

  /** Times an attempt that has started, unless it has settled meanwhile. */
  time(attempt: Attempt<Data, Result, Job>): void {
    if (!this.#has(attempt)) return
    const at = this.#stopsAt(attempt)
    if (at < this.#armedFor) this.#arm(at)
  }

  delete(attempt: Attempt<Data, Result, Job>): void {
    if (!this.#has(attempt)) return
    const { before, after } = attempt
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    attempt.before = undefined
    attempt.after = undefined
    if (--this.#size === 0) this.#arm(Number.POSITIVE_INFINITY)
  }

  #has(attempt: Attempt<Data, Result, Job>): boolean {
    return attempt === this.#first || attempt.before !== undefined
  }

  /** Iterates over a copy: an attempt that is stopped leaves at once. */
  [Symbol.iterator](): Iterator<Attempt<Data, Result, Job>> {
    const attempts: Attempt<Data, Result, Job>[] = []
    for (let attempt = this.#first; attempt !== undefined; attempt = attempt.after) attempts.push(attempt)
    return attempts.values()
  }

  #arm(at: number): void {
    this.#disarm?.()
    this.#armedFor = at
    this.#disarm =
      at === Number.POSITIVE_INFINITY
        ? undefined
        : this.#clock.wake(at, () => this.#stopOverdue(), Number.POSITIVE_INFINITY)
  }

  #stopOverdue(): void {
    this.#arm(Number.POSITIVE_INFINITY)
    const now = this.#clock.now()
    for (const attempt of this) {
      if (this.#stopsAt(attempt) <= now) {
        attempt.stop(new HandlerTimeoutError(attempt.job.id, this.#timeoutMs(attempt)))
      }
    }
    let next = Number.POSITIVE_INFINITY
    for (const attempt of this) next = Math.min(next, this.#stopsAt(attempt))
    this.#arm(next)
  }

  /** When it will have taken too long; microseconds. */
  #stopsAt(attempt: Attempt<Data, Result, Job>): number {
    return attempt.startedAt + this.#timeoutMs(attempt) * MILLISECOND
  }

  #timeoutMs({ backendJob }: Attempt<Data, Result, Job>): number {
    return Math.min(backendJob.settings.timeoutMs, this.#maxTimeoutMs)
  }
}
