import type { Clock } from '../core/clock.ts'
import { ShaperClosedError } from '../core/errors.ts'
import type { Costs } from '../core/usage.ts'
import { Attempt, type Handler, type Settled } from '../line/attempt.ts'
import { departedEvent, departureTimes, emitEnd, emitSettled, jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { ShapedWorker } from '../line/engine.ts'
import { type HandlerOutcome, outcomeOf } from '../line/outcome.ts'
import { publishHandlerEnd } from '../line/publish.ts'
import { RunningAttempts } from '../line/running-attempts.ts'
import { ShapedJob } from '../line/shaped-job.ts'
import { StartWatch } from '../line/start-watch.ts'
import type { MemoryGate } from './memory-gate.ts'
import type { Receiver } from './memory-handoff.ts'
import type { JobRecord } from './store/job-record.ts'
import type { Outcome } from './store/job-transitions.ts'
import type { MemoryStore } from './store/memory-store.ts'

/** What a worker needs of its line. */
export interface WorkerPorts<Result> {
  /** The shaper's name. */
  readonly name: string
  /** No handler freezes its bucket for longer. */
  readonly maxFreezeMs: number
  /** No handler takes longer; absent: as long as its job says. */
  readonly maxTimeoutMs?: number | undefined
  readonly store: MemoryStore
  readonly gate: MemoryGate
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** A handler of the key became free. */
  onFree(key: string, now: number): void
  /** A handler became free, or a job came back. */
  onChange(): void
  /** The worker takes no more jobs, and none of its handlers runs. */
  onClosed(): void
}

/** Calls one handler for the jobs of a line in memory that the gate lets through. */
export class MemoryWorker<Data, Result> implements ShapedWorker, Receiver {
  readonly concurrency: number
  readonly #handler: Handler<Data, Result>
  readonly #ports: WorkerPorts<Result>
  readonly #attempts: RunningAttempts<Data, Result, JobRecord>
  readonly #watch = new StartWatch()
  readonly #waitingForIdle: (() => void)[] = []
  #isClosed = false
  #isAbandoned = false

  constructor(handler: Handler<Data, Result>, concurrency: number, ports: WorkerPorts<Result>) {
    this.#handler = handler
    this.concurrency = concurrency
    this.#ports = ports
    this.#attempts = new RunningAttempts(ports.clock, ports.maxTimeoutMs)
  }

  get running(): number {
    return this.#attempts.size
  }

  /** False once `close` was called. */
  get isOpen(): boolean {
    return !this.#isClosed
  }

  get hasRoom(): boolean {
    return this.isOpen && this.#attempts.size < this.concurrency
  }

  /**
   * Passes the gate and calls the handler, in one tick. Everything that takes time happens before the last reading of the
   * clock; `departed` is emitted after the call, yet before the events that the handler causes.
   */
  receive(job: JobRecord): void {
    const { gate, clock, emitter } = this.#ports
    const data: Data = JSON.parse(job.data)
    emitter.hold()
    try {
      const start = gate.pass(job)
      const shaped = new ShapedJob(job, data, start.at)
      if (job.bucket.hasParts) shaped.settleBy((amounts) => this.#settle(job, amounts))
      const attempt = new Attempt(shaped, job, this.#onSettled)
      this.#attempts.enter(attempt)
      // Queued before the events that the handler causes; its time is known after the call.
      const departed = emitter.hears('departed') ? departedEvent(job, start.at) : undefined
      if (departed !== undefined) emitter.emit('departed', departed)
      const { calledAt, returnedAt } = attempt.call(this.#handler, clock)
      const delay = this.#watch.possibleDelay(job.key, returnedAt - calledAt)
      const startedBy = gate.started(job, start, { calledAt, returnedAt, delay })
      if (departed !== undefined) Object.assign(departed, departureTimes(job, startedBy))
      attempt.follow()
      // One that has ended by now needs no timer.
      this.#attempts.time(attempt)
    } finally {
      emitter.release()
    }
  }

  #settle(job: JobRecord, amounts: Costs): boolean {
    const { store, clock, emitter, onChange } = this.#ports
    const now = clock.now()
    const isFirst = store.starts.settle(job, amounts, now)
    if (isFirst) emitSettled(emitter, job, amounts, now)
    onChange()
    return isFirst
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#attempts.size > 0) {
      await new Promise<void>((resolve) => void this.#waitingForIdle.push(resolve))
    }
    this.#ports.onClosed()
  }

  /** Aborts the attempts that run and fails their jobs, without waiting for handlers that ignore their signal. */
  abandon(): void {
    this.#isAbandoned = true
    for (const attempt of this.#attempts) attempt.stop(new ShaperClosedError(this.#ports.name))
  }

  readonly #onSettled = (attempt: Attempt<Data, Result, JobRecord>, settled: Settled<Result>): void => {
    const { backendJob: job } = attempt
    const { name, maxFreezeMs, store, clock, emitter, onChange } = this.#ports
    this.#attempts.delete(attempt)
    const now = clock.now()
    this.#ports.onFree(job.key, now)
    publishHandlerEnd(name, attempt, settled, now)
    // A freeze gives the attempt back, and the events are about the attempt that ended.
    const ended = settled.ok ? job : jobEvent(job, now)
    const rules = { mayRetry: !this.#isAbandoned, maxFreezeMs }
    const outcome = this.#date(outcomeOf(settled, job, rules, Math.random, emitter), job, now)
    store.finish(job, outcome, now)
    emitEnd(emitter, ended, settled, outcome, now)
    if (this.#attempts.size === 0) for (const resolve of this.#waitingForIdle.splice(0)) resolve()
    onChange()
  }

  /** Returns the outcome with instants for durations, and applies a freeze. */
  #date(
    outcome: HandlerOutcome,
    job: JobRecord,
    now: number,
  ): Outcome & { readonly askedMs?: number | undefined } {
    switch (outcome.kind) {
      case 'retry':
        return { kind: 'retry', error: outcome.error, readyAt: now + outcome.delay }
      case 'freeze':
        return {
          kind: 'freeze',
          readyAt: this.#ports.store.holds.freeze(job.key, now + outcome.duration, now),
          askedMs: outcome.askedMs,
        }
      default:
        return outcome
    }
  }
}
