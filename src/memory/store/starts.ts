import * as bucketCore from '../../core/bucket.ts'
import type { Costs } from '../../core/usage.ts'
import type { Call } from '../../line/attempt.ts'
import type { Pace } from '../../line/job.ts'
import { checkUnits } from '../../line/settle.ts'
import type { Agenda } from './agenda.ts'
import { chargeStart, moveCharge, settleCharge } from './charges.ts'
import { holdOf } from './held-turns.ts'
import type { JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { WatchedBuckets } from './watched-buckets.ts'

/** What a claimed job does to its bucket: it reserves a slot there, begins, and says what it really took. */
export class Starts {
  readonly #buckets: LiveBuckets
  readonly #jobs: JobLedger
  readonly #agenda: Agenda
  readonly #watched: WatchedBuckets

  constructor(buckets: LiveBuckets, jobs: JobLedger, agenda: Agenda, watched: WatchedBuckets) {
    this.#buckets = buckets
    this.#jobs = jobs
    this.#agenda = agenda
    this.#watched = watched
  }

  /** How the job that was claimed departs from its bucket. Call it before `gate`, which changes all of it. */
  pace({ bucket }: JobRecord): Pace & { readonly due: number; readonly tolerance: number } {
    const { pattern, lastStart, limit } = bucket
    const spacing = bucketCore.spacingAfterStart(bucket)
    return { pattern, lastStart, spacing, due: this.#agenda.slotOf(bucket), tolerance: limit.tolerance }
  }

  /** handed -> running: reserves the slot for a handler that starts at `now`, and returns it. */
  gate(job: JobRecord, now: number): number {
    const { bucket, cost } = job
    job.become('running')
    this.#watched.noteStart(job, now)
    const slot = bucketCore.reserveDue(bucket, cost, this.#agenda.slotOf(bucket), now)
    bucketCore.depart(bucket, cost, now)
    this.#buckets.forgetOver(bucket, now)
    chargeStart(job, now)
    job.attempt++
    job.fence = this.#jobs.countStart()
    job.departedAt = now
    bucket.running++
    if (job.isTurn) bucket.isDeparting = true
    this.#agenda.arm(bucket)
    return slot
  }

  /**
   * Counts the next departure from the latest time at which the handler of the job, whose slot `gate` returned, can have
   * begun, and returns that time. Call it before anything else of the bucket departs.
   */
  began(job: JobRecord, slot: number, { calledAt, returnedAt, delay }: Call): number {
    const { bucket } = job
    job.departedAt = calledAt
    // Where nothing is tolerated, a guess is not good enough.
    const startedBy = bucket.limit.tolerance > 0 ? calledAt + delay : returnedAt
    // One that was not on the grid was reserved for the time at which the gate was passed.
    const isOnGrid = slot < bucket.lastStart
    const isMoved = bucketCore.startedBy(bucket, slot, isOnGrid, startedBy)
    moveCharge(job, startedBy)
    if (isMoved || bucket.isDeparting) {
      bucket.isDeparting = false
      this.#agenda.arm(bucket)
    }
    return startedBy
  }

  /** Counts what a start really used. Returns false after the first time, and once it is over. @throws UnknownUnitError */
  settle(job: JobRecord, amounts: Costs, now: number): boolean {
    const { bucket, isTurn, departedAt = now, state, charge } = job
    const isLate = isTurn ? now - departedAt >= holdOf(job) : state !== 'running'
    if (isLate || charge?.isOver || !bucket.isKept) return false
    checkUnits(bucket.key, bucket.limit, amounts)
    if (!settleCharge(job, amounts)) return false
    this.#agenda.rearm(bucket, now)
    return true
  }
}
