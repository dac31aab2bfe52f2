import * as bucketCore from '../../core/bucket.ts'
import type { EndState } from '../../core/job.ts'
import { hasParts } from '../../core/limit.ts'
import type { Agenda } from './agenda.ts'
import { takePlaces } from './held-turns.ts'
import type { JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'

/** How a handler ended. */
export type Outcome =
  | { readonly kind: 'completed'; readonly result: string | undefined }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'retry'; readonly error: string; readonly readyAt: number }
  | { readonly kind: 'freeze'; readonly readyAt: number }

/** Moves a job on when its handler has ended, or when it leaves its line without one: it ends, or waits again. */
export class JobTransitions {
  readonly #jobs: JobLedger
  readonly #agenda: Agenda

  constructor(jobs: JobLedger, agenda: Agenda) {
    this.#jobs = jobs
    this.#agenda = agenda
  }

  finish(job: JobRecord, outcome: Outcome, now: number): void {
    const { bucket } = job
    const { hasLine } = bucket
    const wasFull = bucket.placesTaken >= bucket.limit.concurrency
    bucket.running--
    takePlaces(bucket, -1)
    // The caller of a turn works on.
    if (job.charge !== undefined && !job.isTurn) job.charge = undefined
    if (job.shared !== undefined && !job.isTurn) job.shared = undefined
    if (outcome.kind === 'completed') {
      job.result = outcome.result
      this.#end(job, 'completed', now)
    } else if (outcome.kind === 'failed') {
      job.error = outcome.error
      this.#end(job, 'failed', now)
    } else {
      job.become('retrying')
      job.readyAt = outcome.readyAt
      bucketCore.returnToLine(bucket, job.cost)
      bucket.member?.rejoin(job)
      if (outcome.kind === 'freeze') {
        job.attempt--
        job.startsAgain = true
        bucket.rejoinFirst(job)
      } else {
        job.error = outcome.error
        if (job.startsAgain) job.startsAgain = false
        bucket.rejoin(job)
      }
      this.#agenda.watch(job)
    }
    if (!hasLine) this.#agenda.arm(bucket, now)
    else if (wasFull || bucket.member !== undefined || (job.state === 'retrying' && hasParts(bucket.limit)))
      this.#agenda.rearm(bucket, now)
  }

  endWaiting(job: JobRecord, state: 'cancelled' | 'expired', now: number): void {
    const { bucket } = job
    bucket.leave(job)
    bucketCore.leave(bucket, job.cost)
    bucket.member?.leave(job)
    this.#end(job, state, now)
    if (bucket.hasLine) this.#agenda.sort(bucket, now)
    else this.#agenda.arm(bucket, now)
  }

  #end(job: JobRecord, state: EndState, now: number): void {
    this.#agenda.unwatch(job)
    this.#jobs.end(job, state, now)
  }
}
