import type { Backend, BackendJob, Outcome } from '../backend/backend.ts'
import type { Clock } from '../core/clock.ts'
import { ShaperClosedError } from '../core/errors.ts'
import type { Gate } from '../gate/gate.ts'
import type { Receiver } from '../handoff/handoff.ts'
import { Attempt, type Handler, type Settled } from './attempt.ts'
import type { Emitter } from './emitter.ts'
import { jobEvent } from './job-event.ts'
import { type HandlerOutcome, outcomeOf } from './outcome.ts'
import { RunningAttempts } from './running-attempts.ts'
import { ShapedJob } from './shaped-job.ts'
import type { ShapedWorker } from './shaped-worker.ts'
import { tellEnd } from './tell-end.ts'
import { areStartsWatched, publishDeparture, publishHandlerEnd, publishLateStart } from './tell-start.ts'

/** What a worker needs of its line. */
export interface WorkerPorts<Result> {
  readonly name: string
  /** No handler freezes its bucket for longer. */
  readonly maxFreezeMs: number
  readonly backend: Backend
  readonly gate: Gate
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** A handler became free, or a job came back. */
  onChange(): void
  /** The worker takes no more jobs, and none of its handlers runs. */
  onClosed(): void
}

/** Runs one handler on the jobs of a line in memory that the gate lets through. */
export class LocalWorker<Data, Result> implements ShapedWorker, Receiver {
  readonly concurrency: number
  readonly #handler: Handler<Data, Result>
  readonly #ports: WorkerPorts<Result>
  readonly #attempts: RunningAttempts<Data, Result>
  readonly #waitingForIdle: (() => void)[] = []
  #isClosed = false
  #isAbandoned = false

  constructor(handler: Handler<Data, Result>, concurrency: number, ports: WorkerPorts<Result>) {
    this.#handler = handler
    this.concurrency = concurrency
    this.#ports = ports
    this.#attempts = new RunningAttempts(ports.clock)
  }

  get running(): number {
    return this.#attempts.size
  }

  /** It was not told to end. */
  get isOpen(): boolean {
    return !this.#isClosed
  }

  get hasRoom(): boolean {
    return this.isOpen && this.#attempts.size < this.concurrency
  }

  /**
   * Passes the gate and starts the handler, in one tick. Nothing that takes time stands between the two: the data are
   * read before, and listeners are told after, yet before they are told of what the handler set off.
   */
  receive(job: BackendJob): void {
    const { name, backend, gate, emitter } = this.#ports
    const data: Data = JSON.parse(job.data)
    const pace = areStartsWatched() ? backend.pace(job) : undefined
    emitter.hold()
    try {
      const { startsAt } = gate.pass(job)
      if (pace !== undefined) {
        // Before the handler, which may settle at once.
        publishDeparture(name, job, pace, pace.due, startsAt)
        if (startsAt - pace.due > pace.tolerance) publishLateStart(name, job)
      }
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

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#attempts.size > 0) {
      await new Promise<void>((resolve) => void this.#waitingForIdle.push(resolve))
    }
    this.#ports.onClosed()
  }

  /** Aborts what runs and counts it as failed, without waiting for handlers that do not listen. */
  abandon(): void {
    this.#isAbandoned = true
    for (const attempt of this.#attempts) attempt.stop(new ShaperClosedError(this.#ports.name))
  }

  readonly #onSettled = (attempt: Attempt<Data, Result>, settled: Settled<Result>): void => {
    const { backendJob: job } = attempt
    const { name, maxFreezeMs, backend, clock, emitter, onChange } = this.#ports
    this.#attempts.delete(attempt)
    const now = clock.now()
    publishHandlerEnd(name, attempt, settled, now)
    // A freeze gives the attempt back, and the events are about the one that was.
    const told = settled.ok ? job : jobEvent(job, now)
    const rules = { mayRetry: !this.#isAbandoned, maxFreezeMs }
    const outcome = this.#date(outcomeOf(settled, job, rules, Math.random, emitter), job, now)
    backend.finish(job, outcome, now)
    tellEnd(emitter, told, settled, outcome, now)
    if (this.#attempts.size === 0) for (const resolve of this.#waitingForIdle.splice(0)) resolve()
    onChange()
  }

  /** The outcome with instants for durations; a freeze takes hold here. */
  #date(
    outcome: HandlerOutcome,
    job: BackendJob,
    now: number,
  ): Outcome & { readonly askedMs?: number | undefined } {
    switch (outcome.kind) {
      case 'retry':
        return { kind: 'retry', error: outcome.error, readyAt: now + outcome.delay }
      case 'freeze':
        return {
          kind: 'freeze',
          readyAt: this.#ports.backend.freeze(job.key, now + outcome.duration, now),
          askedMs: outcome.askedMs,
        }
      default:
        return outcome
    }
  }
}
