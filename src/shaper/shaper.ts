import type { Backend } from '../backend/backend.ts'
import { type BucketPage, type BucketQueryInput, bucketQuerySchema } from '../backend/bucket-query.ts'
import { MemoryBackend } from '../backend/memory/memory-backend.ts'
import type { Clock } from '../core/clock.ts'
import type { Audit } from '../core/conformance/history.ts'
import { MILLISECOND } from '../core/duration.ts'
import { describe, FreezeError, InvalidOptionsError, ShaperClosedError } from '../core/errors.ts'
import type { ShaperEvents } from '../core/events.ts'
import type { Admission, BucketView, JobView } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import { RuleBook } from '../core/rule-book.ts'
import { Gate } from '../gate/gate.ts'
import { systemClock } from '../gate/precise-wait.ts'
import { InlineHandoff } from '../handoff/inline-handoff.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import type { Handler } from './attempt.ts'
import { Closing } from './closing.ts'
import { Emitter } from './emitter.ts'
import { KeepAlive } from './keep-alive.ts'
import { LiveRuleBook } from './limits.ts'
import * as options from './options.ts'
import { checkId, RequestReader } from './request-reader.ts'
import { jobEvent, ShapedWorker } from './shaped-worker.ts'
import { tellAdmission } from './tell-admission.ts'

type Listener<Result, Name extends keyof ShaperEvents<Result>> = (
  ...event: ShaperEvents<Result>[Name]
) => void

/**
 * A named set of leaky buckets *as queues*. `enqueue` puts a job into the bounded line of its key or refuses it at
 * once; handlers given to `work` start at the key's rate, in order, whatever comes in.
 */
export class Shaper<Data = unknown, Result = unknown> {
  readonly name: string
  /** The live rule book: which limit governs which key. */
  readonly limits: LiveRuleBook
  readonly #backend: Backend
  readonly #clock: Clock
  readonly #emitter = new Emitter<Result>()
  readonly #handoff = new InlineHandoff()
  readonly #scheduler: Scheduler
  readonly #gate: Gate
  readonly #reader: RequestReader
  readonly #keepAlive = new KeepAlive()
  readonly #workers = new Set<ShapedWorker<Data, Result>>()
  readonly #closing: Closing<Result>

  /** @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError */
  constructor(name: string, input: options.ShaperOptions) {
    options.checkName(name)
    const { limits, jobDefaults, clock } = parseOptions(options.shaperOptionsSchema, input, 'new Shaper')
    this.name = name
    this.#clock = clock ?? systemClock
    this.#backend = new MemoryBackend(new RuleBook(limits), jobDefaults.keepFinished)
    this.#reader = new RequestReader(jobDefaults)
    this.#gate = new Gate(this.#backend, this.#clock)
    this.#scheduler = new Scheduler(this.#backend, this.#handoff, this.#clock, (job, now) => {
      this.#emitter.emit('expired', jobEvent(job, now))
      this.#changed()
    })
    this.#closing = new Closing(this.#backend, this.#scheduler, this.#clock, this.#emitter, this.#workers)
    this.limits = new LiveRuleBook(this.#backend, (pattern, limit) => {
      this.#emitter.emit('limit', { pattern, limit, at: this.#clock.now() / MILLISECOND })
      this.#changed()
    })
  }

  /** Resolves when the line can be used. In one process that is at once. */
  async ready(): Promise<void> {}

  /**
   * Admits a job to the line of `key`, or refuses it at once and says when to come back.
   *
   * @param data anything that JSON keeps as it is; the handler gets a copy
   * @throws InvalidKeyError, InvalidDataError, InvalidOptionsError, NoLimitError, IdConflictError or
   * ShaperClosedError; then nothing was admitted
   */
  async enqueue(key: string, data: Data, input?: options.EnqueueOptions): Promise<Admission> {
    this.#assertOpen()
    const now = this.#clock.now()
    const request = this.#reader.read(key, data, input, now)
    let admission = this.#backend.admit(request, now)
    if (this.#madeRoom(admission, now)) admission = this.#backend.admit(request, this.#clock.now())
    tellAdmission(this.#emitter, request, admission, this.#clock.now())
    this.#changed()
    return admission
  }

  /** The same for many requests; the verdicts come in their order. If one is invalid, none is admitted. */
  async enqueueMany(requests: readonly options.EnqueueRequest<Data>[]): Promise<Admission[]> {
    this.#assertOpen()
    const read = this.#reader.readMany(requests, this.#clock.now())
    // Whoever is due leaves first, so that their places are free for the newcomers.
    this.#scheduler.runOnce()
    const now = this.#clock.now()
    const admissions = this.#backend.admitMany(read, now)
    this.#emitter.hold()
    for (const [index, admission] of admissions.entries())
      tellAdmission(this.#emitter, read[index]!, admission, now)
    this.#emitter.release()
    this.#changed()
    return admissions
  }

  /** What `enqueue` would answer now; changes nothing. An accepted forecast has an empty id. */
  async forecast(key: string, cost = 1): Promise<Admission> {
    this.#assertOpen()
    checkKey(key)
    parseOptions(options.enqueueOptionsSchema, { cost }, 'forecast')
    const now = this.#clock.now()
    const admission = this.#backend.forecast(key, cost, now)
    return this.#madeRoom(admission, now) ? this.#backend.forecast(key, cost, this.#clock.now()) : admission
  }

  /** Takes a waiting job out of its line; false when it is unknown or has departed. */
  async cancel(id: string): Promise<boolean> {
    checkId(id)
    const now = this.#clock.now()
    const job = this.#backend.cancel(id, now)
    if (job !== undefined) this.#emitter.emit('cancelled', jobEvent(job, now))
    this.#changed()
    return job !== undefined
  }

  /** What is known of a job: while it lives, and among the last `keepFinished` that ended. */
  async job(id: string): Promise<JobView | undefined> {
    checkId(id)
    return this.#backend.job(id)
  }

  /** A live bucket; undefined for a key that holds nothing and could depart at once. */
  async inspect(key: string): Promise<BucketView | undefined> {
    checkKey(key)
    return this.#backend.inspect(key, this.#clock.now())
  }

  /** Live buckets, filtered, sorted and page by page. @throws InvalidOptionsError */
  async buckets(query: BucketQueryInput = {}): Promise<BucketPage> {
    return this.#backend.list(parseOptions(bucketQuerySchema, query, 'buckets'), this.#clock.now())
  }

  /** Jobs by state, recounted: `admitted = waiting + handed + running + retrying + ended`. */
  async audit(): Promise<Audit> {
    return this.#backend.audit()
  }

  /** No departures of the key for `forMs` milliseconds; a shorter freeze never shortens a longer one. */
  async freeze(key: string, forMs: number): Promise<void> {
    checkKey(key)
    const duration = new FreezeError({ forMs }).forMs * MILLISECOND
    const now = this.#clock.now()
    const until = this.#backend.freeze(key, now + duration, now)
    this.#emitter.emit('frozen', { key, at: now / MILLISECOND, until: until / MILLISECOND })
    this.#changed()
  }

  /** No departures of the key until `resume`; its line still fills up. */
  async pause(key: string): Promise<void> {
    checkKey(key)
    const now = this.#clock.now()
    this.#backend.pause(key, now)
    this.#emitter.emit('paused', { key, at: now / MILLISECOND })
  }

  /** Departures go on at the rate, without making up for the pause. */
  async resume(key: string): Promise<void> {
    checkKey(key)
    const now = this.#clock.now()
    this.#backend.resume(key, now)
    this.#emitter.emit('resumed', { key, at: now / MILLISECOND })
    this.#changed()
  }

  /**
   * Gives the shaper a handler. Several workers share the jobs.
   *
   * A handler may throw a FreezeError to hold its whole bucket; any other error fails the attempt.
   *
   * @throws InvalidOptionsError or ShaperClosedError
   */
  work(handler: Handler<Data, Result>, input: options.WorkOptions = {}): ShapedWorker<Data, Result> {
    this.#assertOpen()
    if (typeof handler !== 'function') {
      throw new InvalidOptionsError(`work: expected the handler to be a function, got: ${describe(handler)}`)
    }
    const { concurrency } = parseOptions(options.workOptionsSchema, input, 'work')
    const worker: ShapedWorker<Data, Result> = new ShapedWorker(handler, concurrency, {
      name: this.name,
      backend: this.#backend,
      gate: this.#gate,
      clock: this.#clock,
      emitter: this.#emitter,
      onChange: () => this.#changed(),
      onClosed: () => {
        this.#handoff.remove(worker)
        this.#workers.delete(worker)
      },
    })
    this.#workers.add(worker)
    this.#handoff.add(worker)
    this.#changed()
    return worker
  }

  on<Name extends keyof ShaperEvents<Result>>(name: Name, listener: Listener<Result, Name>): this {
    this.#emitter.on(name, listener)
    return this
  }

  off<Name extends keyof ShaperEvents<Result>>(name: Name, listener: Listener<Result, Name>): this {
    this.#emitter.off(name, listener)
    return this
  }

  /**
   * Accepts nothing more, lets the lines drain for `drainMs`, cancels who still waits (told by `cancelled` events)
   * and resolves when the handlers have settled. With `drainMs`, handlers that run past it have their signal
   * aborted and count as failed. Safe to call twice.
   *
   * @throws InvalidOptionsError
   */
  async close(input: options.CloseOptions = {}): Promise<void> {
    const { drainMs } = parseOptions(options.closeOptionsSchema, input, 'close')
    await this.#closing.close(drainMs)
    this.#keepAlive.set(false)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** After a refusal while somebody is due: lets him depart first, so that the same may be asked once more. */
  #madeRoom(admission: Admission, now: number): boolean {
    if (admission.accepted || this.#backend.nextDeparture() > now) return false
    this.#scheduler.runOnce()
    return true
  }

  /** Something was admitted, has ended or came back. */
  #changed(): void {
    const isLive = this.#backend.live > 0
    if (!isLive) this.#closing.drained()
    this.#keepAlive.set(isLive)
    this.#scheduler.wake()
  }

  #assertOpen(): void {
    if (this.#closing.hasBegun) throw new ShaperClosedError(this.name)
  }
}
