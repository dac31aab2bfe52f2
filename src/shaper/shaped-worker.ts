import type { Backend, BackendJob, Outcome } from '../backend/backend.ts'
import { backoffDelay } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { FreezeError, isVelvetRopeError, messageOf, ShaperClosedError, toError } from '../core/errors.ts'
import type { JobEvent } from '../core/events.ts'
import type { Gate } from '../gate/gate.ts'
import { Attempt, type Handler, type Settled } from './attempt.ts'
import type { Emitter } from './emitter.ts'
import { RunningAttempts } from './running-attempts.ts'
import { ShapedJob } from './shaped-job.ts'

/** What a worker needs of its shaper. */
export interface WorkerPorts<Result> {
  readonly name: string
  readonly backend: Backend
  readonly gate: Gate
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** A handler became free, or a job came back. */
  onChange(): void
  /** The worker takes no more jobs, and none of its handlers runs. */
  onClosed(): void
}

/** Runs one handler, up to `concurrency` times at once, on the jobs that the gate lets through. */
export class ShapedWorker<Data = unknown, Result = unknown> {
  readonly concurrency: number
  readonly #handler: Handler<Data, Result>
  readonly #ports: WorkerPorts<Result>
  readonly #attempts: RunningAttempts<Data, Result>
  readonly #waitingForIdle: (() => void)[] = []
  #isClosed = false
  #isAbandoned = false

  /** @internal made by `shaper.work` */
  constructor(handler: Handler<Data, Result>, concurrency: number, ports: WorkerPorts<Result>) {
    this.#handler = handler
    this.concurrency = concurrency
    this.#ports = ports
    this.#attempts = new RunningAttempts(ports.clock)
  }

  /** Handlers that run now. */
  get running(): number {
    return this.#attempts.size
  }

  get hasRoom(): boolean {
    return !this.#isClosed && this.#attempts.size < this.concurrency
  }

  /**
   * @internal Passes the gate and starts the handler, in one tick. Nothing that takes time stands between the two:
   * the data are read before, and listeners are told after, yet before they are told of what the handler set off.
   */
  receive(job: BackendJob): void {
    const { gate, emitter } = this.#ports
    const data: Data = JSON.parse(job.data)
    emitter.hold()
    try {
      const { startsAt } = gate.pass(job)
      const attempt = new Attempt(new ShapedJob(job, data, startsAt), job, this.#onSettled)
      if (emitter.hears('departed')) {
        emitter.emit('departed', { ...jobEvent(job, startsAt), waitedMs: attempt.job.waitedMs })
      }
      this.#attempts.add(attempt)
      attempt.start(this.#handler)
    } finally {
      emitter.release()
    }
  }

  /** Takes no more jobs, and resolves when the handlers that run have settled. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#attempts.size > 0) {
      await new Promise<void>((resolve) => void this.#waitingForIdle.push(resolve))
    }
    this.#ports.onClosed()
  }

  /** @internal Aborts what runs and counts it as failed, without waiting for handlers that do not listen. */
  abandon(): void {
    this.#isAbandoned = true
    for (const attempt of this.#attempts) attempt.stop(new ShaperClosedError(this.#ports.name))
  }

  readonly #onSettled = (attempt: Attempt<Data, Result>, settled: Settled<Result>): void => {
    const { backendJob: job } = attempt
    const { backend, clock, emitter, onChange } = this.#ports
    this.#attempts.delete(attempt)
    const now = clock.now()
    if (settled.ok) {
      const { value } = settled
      backend.finish(job, { kind: 'completed', result: this.#encodeResult(value) }, now)
      if (emitter.hears('completed')) emitter.emit('completed', { ...jobEvent(job, now), result: value })
    } else {
      const forMs = freezeOf(settled.error)
      if (forMs === undefined) this.#fail(job, settled.error, now)
      else this.#giveBack(job, forMs, now)
    }
    if (this.#attempts.size === 0) for (const resolve of this.#waitingForIdle.splice(0)) resolve()
    onChange()
  }

  #fail(job: BackendJob, error: Error, now: number): void {
    const { backend, emitter } = this.#ports
    const { attempts, backoff } = job.settings
    const isLast = job.attempt >= attempts || this.#isAbandoned
    const message = messageOf(error)
    const outcome: Outcome = isLast
      ? { kind: 'failed', error: message }
      : {
          kind: 'retry',
          error: message,
          readyAt: now + backoffDelay(backoff, job.attempt, Math.random()),
        }
    backend.finish(job, outcome, now)
    if (!emitter.hears('failed')) return
    const event = { ...jobEvent(job, now), error }
    emitter.emit(
      'failed',
      outcome.kind === 'retry' ? { ...event, retryAt: outcome.readyAt / MILLISECOND } : event,
    )
  }

  #giveBack(job: BackendJob, forMs: number, now: number): void {
    const { backend, emitter } = this.#ports
    const event = jobEvent(job, now)
    const until = backend.freeze(job.key, now + forMs * MILLISECOND, now)
    backend.finish(job, { kind: 'freeze', readyAt: until }, now)
    emitter.emit('frozen', { key: job.key, at: event.at, until: until / MILLISECOND })
    emitter.emit('returned', { ...event, retryAt: until / MILLISECOND })
  }

  /** A result is kept as JSON. One that cannot be is told of, and its job is completed all the same. */
  #encodeResult(result: Result): string | undefined {
    try {
      return JSON.stringify(result)
    } catch (error) {
      this.#ports.emitter.fail(toError(error))
      return undefined
    }
  }
}

/** What events tell of a job. */
export function jobEvent({ id, key, cost, attempt }: BackendJob, now: number): JobEvent {
  return { id, key, cost, attempt, at: now / MILLISECOND }
}

/** For how long the handler froze its bucket: also by an error of another copy of the package, if it makes sense. */
function freezeOf(error: Error): number | undefined {
  try {
    if (!isVelvetRopeError(error, 'freeze') || !('forMs' in error)) return undefined
    return new FreezeError({ forMs: error.forMs as number }).forMs
  } catch {
    // What cannot be looked at is none of ours.
    return undefined
  }
}
