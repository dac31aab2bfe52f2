import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { toError } from '../core/thrown.ts'
import type { WorkerJob } from './job.ts'
import type { ShapedJob } from './shaped-job.ts'

export type Handler<Data, Result> = (job: ShapedJob<Data>) => Promise<Result> | Result

export type Settled<Result> =
  | { readonly ok: true; readonly value: Result }
  | { readonly ok: false; readonly error: Error }

/** The call of a handler, or of the callbacks of a turn, between two readings of the clock. Microseconds. */
export interface Call {
  readonly calledAt: number
  readonly returnedAt: number
  /** How long after the call the first statement may have run, estimated from how long other calls take. */
  readonly delay: number
}

/** A running attempt: settles once, by its handler or by `stop`, whichever comes first. */
export class Attempt<Data, Result, Job extends WorkerJob = WorkerJob> {
  readonly job: ShapedJob<Data>
  /** The same job as the backend knows it. */
  readonly backendJob: Job
  /** Its neighbours among the attempts that run, in the order in which they entered; only `RunningAttempts` sets them. */
  before: Attempt<Data, Result, Job> | undefined = undefined
  after: Attempt<Data, Result, Job> | undefined = undefined
  readonly #onSettled: (attempt: Attempt<Data, Result, Job>, settled: Settled<Result>) => void
  #isSettled = false
  #isInCall = false
  #answer: Promise<Result> | Result | undefined
  /** What it settled with while its handler was being called. */
  #early: Settled<Result> | undefined

  constructor(
    job: ShapedJob<Data>,
    backendJob: Job,
    onSettled: (attempt: Attempt<Data, Result, Job>, settled: Settled<Result>) => void,
  ) {
    this.job = job
    this.backendJob = backendJob
    this.#onSettled = onSettled
  }

  /** When its handler was started, by the clock of the process in microseconds. */
  get startedAt(): number {
    return this.job.departedAt * MILLISECOND
  }

  /** Calls the handler in this very tick. */
  start(handler: Handler<Data, Result>): void {
    this.#isInCall = true
    try {
      this.#answer = handler(this.job)
    } catch (error) {
      this.#fail(error)
    }
    this.follow()
  }

  /**
   * Calls the handler between two readings of the clock, with nothing else between them, and returns both. The attempt does
   * not settle before `follow`.
   */
  call(handler: Handler<Data, Result>, clock: Clock): Pick<Call, 'calledAt' | 'returnedAt'> {
    const { job } = this
    let calledAt = 0
    this.#isInCall = true
    try {
      calledAt = clock.now()
      job.depart(calledAt)
      this.#answer = handler(job)
    } catch (error) {
      this.#fail(error)
    }
    return { calledAt, returnedAt: clock.now() }
  }

  /** Settles with what the handler answered when it was called, as soon as it is known. */
  follow(): void {
    const answer = this.#answer
    this.#answer = undefined
    this.#isInCall = false
    if (this.#early !== undefined) this.#settle(this.#early)
    try {
      // A promise costs a turn and two reactions; an answer that is none ends the attempt at once.
      if (!isThenable(answer)) this.#settle({ ok: true, value: answer as Result })
      else {
        Promise.resolve(answer).then(
          (value) => this.#settle({ ok: true, value }),
          (error: unknown) => this.#fail(error),
        )
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Aborts the job's signal and settles without waiting for the handler, which may never do so. */
  stop(reason: Error): void {
    if (this.#isSettled) return
    this.job.abort(reason)
    this.#fail(reason)
  }

  #fail(thrown: unknown): void {
    this.#settle({ ok: false, error: toError(thrown) })
  }

  #settle(settled: Settled<Result>): void {
    if (this.#isSettled) return
    if (this.#isInCall) {
      this.#early ??= settled
      return
    }
    this.#isSettled = true
    this.#onSettled(this, settled)
  }
}

function isThenable(answer: unknown): answer is PromiseLike<unknown> {
  const isObject = (typeof answer === 'object' && answer !== null) || typeof answer === 'function'
  return isObject && 'then' in answer
}
