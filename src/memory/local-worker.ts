import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ShaperClosedError } from '../core/errors.ts'
import { Attempt, type Handler, type Settled } from '../line/attempt.ts'
import { emitEnd, jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { ShapedWorker } from '../line/engine.ts'
import type { Backend, BackendJob, Outcome } from '../line/job.ts'
import { type HandlerOutcome, outcomeOf } from '../line/outcome.ts'
import { areStartsWatched, publishDeparture, publishHandlerEnd, publishLateStart } from '../line/publish.ts'
import { RunningAttempts } from '../line/running-attempts.ts'
import { ShapedJob } from '../line/shaped-job.ts'
import { StartWatch } from '../line/start-watch.ts'
import type { Gate } from './gate.ts'
import type { Receiver } from './handoff.ts'

/** What a worker needs of its line. */
export interface WorkerPorts<Result> {
  readonly name: string
  /** No handler freezes its bucket for longer. */
  readonly maxFreezeMs: number
  readonly backend: Backend
  readonly gate: Gate
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** A handler of the key became free. */
  onFree(key: string): void
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
  readonly #watch = new StartWatch()
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
   * Passes the gate and starts the handler, in one tick. All that takes time is done before the last look at the clock;
   * listeners are told after the call, yet before they are told of what the handler set off.
   */
  receive(job: BackendJob): void {
    const { name, backend, gate, clock, emitter } = this.#ports
    const data: Data = JSON.parse(job.data)
    const pace = areStartsWatched() ? backend.pace(job) : undefined
    emitter.hold()
    try {
      const passage = gate.pass(job)
      const attempt = new Attempt(new ShapedJob(job, data, passage.at), job, this.#onSettled)
      this.#attempts.add(attempt)
      // In its place before what the handler sets off; its time is known later.
      const departed = emitter.hears('departed') ? departedEvent(job, passage.at) : undefined
      if (departed !== undefined) emitter.emit('departed', departed)
      const { calledAt, returnedAt } = attempt.call(this.#handler, clock)
      const delay = this.#watch.possibleDelay(job.key, returnedAt - calledAt)
      const startedBy = gate.left(job, passage, { calledAt, returnedAt, delay })
      if (pace !== undefined) {
        publishDeparture(name, job, pace, pace.due, startedBy)
        if (startedBy - pace.due > pace.tolerance) publishLateStart(name, job)
      }
      if (departed !== undefined) Object.assign(departed, departedEvent(job, startedBy))
      attempt.follow()
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
    this.#ports.onFree(job.key)
    const now = clock.now()
    publishHandlerEnd(name, attempt, settled, now)
    // A freeze gives the attempt back, and the events are about the one that was.
    const told = settled.ok ? job : jobEvent(job, now)
    const rules = { mayRetry: !this.#isAbandoned, maxFreezeMs }
    const outcome = this.#date(outcomeOf(settled, job, rules, Math.random, emitter), job, now)
    backend.finish(job, outcome, now)
    emitEnd(emitter, told, settled, outcome, now)
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

/** @param at microseconds */
function departedEvent(job: BackendJob, at: number) {
  return { ...jobEvent(job, at), waitedMs: (at - job.admittedAt) / MILLISECOND }
}
