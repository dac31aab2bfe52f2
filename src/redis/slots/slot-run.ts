import { EVEN } from '../scripts/prelude.ts'
import type { Delivery } from '../transport/transport.ts'
import type { FollowAnswer, FollowingJob } from '../verbs/follow.ts'
import { DRIFT } from './offset.ts'
import { allowedFor, type Grant, type KnownStart } from './start-window.ts'

type Pace = Pick<FollowAnswer, 'interval' | 'tolerance' | 'pattern'>

/**
 * A run: jobs of one bucket that this worker starts one after the other without asking for each slot. It counts the slots as the
 * store does when it hears of the starts (scripts/lib/run.lua): a start within the tolerance keeps the grid, a later one moves it.
 * It counts them by the local clock, which times all of them: how far that is from the store's does not matter, nor that the offset
 * between the two is corrected meanwhile.
 */
export class SlotRun {
  readonly first: Delivery
  /** The store is being asked for more jobs. */
  isAsking = false
  /** Its jobs that have not started. */
  ahead = 1
  /** More are asked for when it has so few. */
  asksAt = 0
  #pace: Pace | undefined
  /** The slot of the last start, or that start where it was too late for its slot: the next slot counts from there. Local time. */
  #from: number | undefined
  #last: KnownStart | undefined
  #lastCost = 0
  /** The rounding error of the last addition, which the next one makes up for: see `carry` of src/core/bucket.ts. */
  #carry = 0

  /** @param first the job that was granted a slot, which the others follow */
  constructor(first: Delivery) {
    this.first = first
  }

  /**
   * Takes on the pace that the store has just answered. A changed limit counts from the last slot on; a job that was granted its slot
   * before keeps that, and says nothing of those behind it. Without an interval nothing follows: the limit became slow, or the store
   * knows no such bucket.
   */
  follow({ interval, tolerance, pattern }: Pace): void {
    if (interval > 0) this.#pace = { interval, tolerance, pattern }
    else this.stop()
  }

  /** So many jobs came. */
  add(jobs: number): void {
    this.ahead += jobs
    this.asksAt = Math.floor(this.ahead / 2)
  }

  /** The grant of the job that starts next; undefined: it has to ask for its slot. */
  grant({ job, earliest, latest }: FollowingJob): Grant | undefined {
    const last = this.#last
    if (this.#pace === undefined || this.#from === undefined || last === undefined) return undefined
    const { tolerance, pattern } = this.#pace
    const localSlot = this.#from + this.#step
    // The last start may have been late within a tolerance that is smaller now.
    const gap = Math.max(EVEN * this.#spacing, this.#spacing - tolerance)
    const opensAt = Math.max(localSlot, last.localAt + gap)
    const startAt = last.at + (opensAt - last.localAt)
    if (startAt >= latest) {
      // Those behind it are as late, and more of them would never catch up.
      this.asksAt = 0
      return undefined
    }
    const slot = last.at + (localSlot - last.localAt)
    return {
      kind: 'granted',
      slot,
      due: slot,
      startAt,
      latest,
      tolerance,
      frozenUntil: earliest === 0 ? undefined : earliest,
      runInterval: this.#pace.interval,
      mayRun: true,
      pace: { pattern, lastStart: last.at, spacing: this.#spacing },
      job,
      follows: { localSlot, opensAt },
    }
  }

  /** The next job asks for its slot: those behind it follow from there. */
  stop(): void {
    this.#from = undefined
  }

  get isStopped(): boolean {
    return this.#from === undefined
  }

  /** Nothing of it is left. */
  get isOver(): boolean {
    return this.ahead === 0 && !this.isAsking && this.isStopped
  }

  /** A job of the bucket was started by this worker. */
  started(start: KnownStart, { slot, tolerance, follows, job, runInterval }: Grant): void {
    // The limit was changed since those behind it came.
    if (runInterval === 0) {
      this.stop()
      return
    }
    const localSlot = follows?.localSlot ?? start.localAt - (start.at - slot)
    const isLate = start.localAt - localSlot > tolerance - allowedFor({ tolerance })
    const from = this.#from ?? 0
    const step = this.#step
    this.#carry = follows === undefined || isLate ? 0 : step - (from + step - from)
    this.#from = isLate ? start.localAt : localSlot
    this.#last = start
    this.#lastCost = job.cost
  }

  /** The local clock may run faster than others. */
  get #spacing(): number {
    return (this.#pace?.interval ?? 0) * (1 + DRIFT) * this.#lastCost
  }

  get #step(): number {
    return this.#spacing + this.#carry
  }
}
