import { describe } from '../core/describe.ts'
import { InvalidOptionsError, ShaperClosedError } from '../core/errors.ts'
import type { ShaperEvents } from '../core/events.ts'
import type { Admission, Durability, TurnRefusal } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import { TurnRefusedError } from '../core/turn-errors.ts'
import type { Handler } from '../line/attempt.ts'
import { Emitter } from '../line/emitter.ts'
import type { Engine } from '../line/engine.ts'
import { freezeRequest } from '../line/freeze-request.ts'
import type { LiveRuleBook } from '../line/limits.ts'
import { type WorkOptions, workOptionsSchema } from '../line/options.ts'
import type { ShapedWorker } from '../line/shaped-worker.ts'
import type { Turn } from '../line/turn-desk.ts'
import { MemoryEngine } from '../memory/memory-engine.ts'
import { RedisEngine } from '../redis/redis-engine.ts'
import * as options from './options.ts'
import { checkId, RequestReader } from './request-reader.ts'
import { ShaperViews } from './shaper-views.ts'
import { type WrapOptions, wrap } from './wrap.ts'

type Listener<Result, Name extends keyof ShaperEvents<Result>> = (
  ...event: ShaperEvents<Result>[Name]
) => void

/**
 * A named set of leaky buckets *as queues*. `enqueue` puts a job into the bounded line of its key or refuses it at
 * once; handlers given to `work` start at the key's rate, in order, whatever comes in.
 */
export class Shaper<Data = unknown, Result = unknown> extends ShaperViews {
  readonly name: string
  /** Where the lines are: in the memory of this process, or in a Redis that many share. */
  readonly backend: 'memory' | 'redis'
  /** The live rule book: which limit governs which key. */
  readonly limits: LiveRuleBook
  readonly #engine: Engine<Data, Result>
  readonly #emitter: Emitter<Result>
  readonly #reader: RequestReader
  #isClosed = false

  /** @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError */
  constructor(name: string, input: options.ShaperOptions) {
    options.checkName(name)
    const settings = options.parseShaperOptions(input)
    const emitter = new Emitter<Result>()
    const { connection } = settings
    const engine: Engine<Data, Result> =
      connection === undefined
        ? new MemoryEngine(name, settings, emitter)
        : new RedisEngine(name, { ...settings, connection }, emitter)
    super(engine)
    this.name = name
    this.backend = connection === undefined ? 'memory' : 'redis'
    this.#reader = new RequestReader(settings.jobDefaults, settings.maxDataBytes)
    this.#engine = engine
    this.#emitter = emitter
    this.limits = engine.limits
  }

  /** What it takes for accepted jobs to be lost; undefined on a shared line that was not reached yet. */
  get durability(): Durability | undefined {
    return this.#engine.durability
  }

  /** Resolves when the line can be used. In one process that is at once. */
  async ready(): Promise<void> {
    return this.#engine.ready()
  }

  /**
   * Admits a job to the line of `key`, or refuses it at once and says when to come back.
   *
   * @param data anything that JSON keeps as it is; the handler gets a copy
   * @throws InvalidKeyError, InvalidDataError, InvalidOptionsError, NoLimitError, IdConflictError or
   * ShaperClosedError; then nothing was admitted
   */
  async enqueue(key: string, data: Data, input?: options.EnqueueOptions): Promise<Admission> {
    this.#assertOpen()
    return this.#engine.enqueue(this.#reader.read(key, data, input))
  }

  /** The same for many requests; the verdicts come in their order. If one is invalid, none is admitted. */
  async enqueueMany(requests: readonly options.EnqueueRequest<Data>[]): Promise<Admission[]> {
    this.#assertOpen()
    return this.#engine.enqueueMany(this.#reader.readMany(requests))
  }

  /** What `enqueue` would answer now; changes nothing. An accepted forecast has an empty id. */
  async forecast(key: string, cost = 1): Promise<Admission> {
    this.#assertOpen()
    checkKey(key)
    parseOptions(options.enqueueOptionsSchema, { cost }, 'forecast')
    return this.#engine.forecast(key, cost)
  }

  /**
   * Waits in the line of `key` for this caller's turn, together with the jobs and callers that wait there, and resolves
   * at his departure: what he does then is at the key's rate. Nothing is handed over.
   *
   * @throws TurnRefusedError at once when the line is full, or the turn cannot come before the timeout;
   * TurnTimeoutError when it did not come, though it was promised; the signal's reason when it is aborted;
   * TurnCancelledError, ShaperClosedError, InvalidKeyError, InvalidOptionsError or NoLimitError; on a shared line also
   * BackendUnavailableError and UnfitRedisError
   */
  async acquire(key: string, input: options.AcquireOptions = {}): Promise<Turn> {
    this.#assertOpen()
    const { signal, ...settings } = parseOptions(options.acquireOptionsSchema, input, 'acquire')
    const request = this.#reader.readTurn(key, settings)
    signal?.throwIfAborted()
    const turn = await this.#engine.turn(request, signal)
    if (!turn.accepted) throw new TurnRefusedError(turn)
    return turn
  }

  /**
   * Takes a turn if it can be had now, and answers the refusal if not: `not-now` where there would be one later.
   * (On a shared line the way there and back takes its time: some milliseconds, and a fifth of a second at the most.)
   *
   * @throws InvalidKeyError, InvalidOptionsError, NoLimitError, ShaperClosedError or TurnCancelledError; on a shared line
   * also BackendUnavailableError and UnfitRedisError
   */
  async tryAcquire(key: string, input: options.TryAcquireOptions = {}): Promise<Turn | TurnRefusal> {
    this.#assertOpen()
    const settings = parseOptions(options.tryAcquireOptionsSchema, input, 'tryAcquire')
    const turn = await this.#engine.turn(this.#reader.readTurn(key, { ...settings, timeoutMs: 0 }), undefined)
    if (turn.accepted) return turn
    const { reason } = turn
    // The line knows it as a deadline that is already over; the caller named none.
    return { ...turn, reason: reason === 'deadline' ? 'not-now' : reason }
  }

  /**
   * A function that waits its turn and then calls `fn`, with the same `this` and the same arguments. It rejects as
   * `acquire` does, and as `fn` does.
   *
   * @throws InvalidOptionsError
   */
  wrap<This, Args extends unknown[], Value>(
    fn: (this: This, ...args: Args) => Value,
    // Not inferred from the options, whose functions may leave arguments out.
    input: WrapOptions<Args & {}>,
  ): (this: This, ...args: Args) => Promise<Awaited<Value>> {
    return wrap(fn, input, (key, settings) => this.acquire(key, settings))
  }

  /** Takes a waiting job out of its line; false when it is unknown or has departed. */
  async cancel(id: string): Promise<boolean> {
    checkId(id)
    return this.#engine.cancel(id)
  }

  /** No departures of the key for `forMs` milliseconds; a shorter freeze never shortens a longer one. */
  async freeze(key: string, forMs: number, input: options.FreezeOptions = {}): Promise<void> {
    checkKey(key)
    const { atMostMs } = parseOptions(options.freezeOptionsSchema, input, 'freeze')
    return this.#engine.freeze(key, freezeRequest(forMs, atMostMs))
  }

  /**
   * Lifts a freeze before its end: departures go on at the rate, without making up for the time. A pause stays in force.
   *
   * @returns false when the key was not frozen
   */
  async unfreeze(key: string): Promise<boolean> {
    checkKey(key)
    return this.#engine.unfreeze(key)
  }

  /** No departures of the key until `resume`; its line still fills up. */
  async pause(key: string): Promise<void> {
    checkKey(key)
    return this.#engine.pause(key)
  }

  /** Departures go on at the rate, without making up for the pause. */
  async resume(key: string): Promise<void> {
    checkKey(key)
    return this.#engine.resume(key)
  }

  /**
   * Gives the shaper a handler. Several workers share the jobs.
   *
   * A handler may throw a FreezeError to hold its whole bucket; any other error fails the attempt.
   *
   * @throws InvalidOptionsError or ShaperClosedError
   */
  work(handler: Handler<Data, Result>, input: WorkOptions = {}): ShapedWorker {
    this.#assertOpen()
    if (typeof handler !== 'function') {
      throw new InvalidOptionsError(`work: expected the handler to be a function, got: ${describe(handler)}`)
    }
    return this.#engine.work(handler, parseOptions(workOptionsSchema, input, 'work'))
  }

  /**
   * Runs the schedulers in this process, without a handler: they hand jobs over to workers elsewhere, bring back what
   * was lost with a worker, and let expire what waits too long. Every worker runs them anyway, unless told otherwise; so
   * this is for a process that has none, and should look after a line while its workers are away. Safe to call twice.
   *
   * @throws ShaperClosedError
   */
  schedule(): void {
    this.#assertOpen()
    this.#engine.schedule()
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
   * aborted: their jobs count as failed, or on a shared line go back to it with their attempt. Safe to call twice.
   *
   * @throws InvalidOptionsError
   */
  async close(input: options.CloseOptions = {}): Promise<void> {
    const { drainMs } = parseOptions(options.closeOptionsSchema, input, 'close')
    // Before anything else, since closing tells listeners, who may call back.
    this.#isClosed = true
    return this.#engine.close(drainMs)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ShaperClosedError(this.name)
  }
}
