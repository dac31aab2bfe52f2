import type { Durability } from '../core/bucket-view.ts'
import { ShaperClosedError } from '../core/errors.ts'
import type { ShaperEvents } from '../core/events.ts'
import type { HeapReport } from '../core/heap-use.ts'
import type { Admission, TurnRefusal } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import { toError } from '../core/thrown.ts'
import { TurnRefusedError } from '../core/turn-errors.ts'
import type { Costs } from '../core/usage.ts'
import type { Handler } from '../line/attempt.ts'
import { Emitter, type Listener } from '../line/emitter.ts'
import type { Engine, ShapedWorker } from '../line/engine.ts'
import type { LiveRuleBook } from '../line/limits.ts'
import type { WorkOptions } from '../line/options.ts'
import type { Turn } from '../line/turn.ts'
import { MemoryEngine } from '../memory/memory-engine.ts'
import { RedisEngine } from '../redis/redis-engine.ts'
import * as options from './options.ts'
import { ReadableLines } from './readable-lines.ts'
import * as requests from './request-reader.ts'
import { type WrapOptions, wrap } from './wrap.ts'

/**
 * A named set of leaky buckets *as queues*. `enqueue` puts a job into the bounded line of its key or rejects it at once;
 * handlers given to `work` start at the key's rate, in order, however fast jobs come in.
 *
 * Invalid arguments throw InvalidKeyError or InvalidOptionsError. After `close`, requests and `work` throw
 * ShaperClosedError. On a shared line, methods that ask Redis may also throw BackendUnavailableError.
 */
export class Shaper<Data = unknown, Result = unknown> extends ReadableLines {
  readonly name: string
  /** Where the lines are: in the memory of this process, or in a Redis that many processes share. */
  readonly backend: 'memory' | 'redis'
  /** The live rule book: which limit governs which key. */
  readonly limits: LiveRuleBook
  /** What keys use of the heap of this process, estimated; on a shared line, their local limits alone. */
  readonly heap: HeapReport
  readonly #engine: Engine<Data, Result>
  readonly #emitter: Emitter<Result>
  readonly #reader: requests.RequestReader
  #isClosed = false

  /** @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError */
  constructor(name: string, input: options.ShaperOptions) {
    options.checkName(name)
    const settings = options.parseShaperOptions(input)
    const { connection, jobDefaults, maxDataBytes } = settings
    const emitter = new Emitter<Result>()
    const engine: Engine<Data, Result> =
      connection === undefined
        ? new MemoryEngine(name, settings, emitter)
        : new RedisEngine(name, { ...settings, connection }, emitter)
    super(engine.views)
    this.name = name
    this.backend = connection === undefined ? 'memory' : 'redis'
    this.limits = engine.limits
    this.heap = engine.heap
    this.#engine = engine
    this.#emitter = emitter
    this.#reader = new requests.RequestReader(jobDefaults, maxDataBytes)
  }

  /** What accepted jobs survive; undefined on a shared line that has not been reached yet. */
  get durability(): Durability | undefined {
    return this.#engine.durability
  }

  /** Resolves when the line can be used: in memory at once, on Redis when it has connected. */
  async ready(): Promise<void> {
    return this.#engine.ready()
  }

  /**
   * Admits a job to the line of `key`, or rejects it at once and says when to come back. `data` is anything that JSON
   * preserves; the handler gets a copy.
   * @throws InvalidDataError, DataTooLargeError, NoLimitError or IdConflictError; then nothing was admitted
   */
  enqueue(key: string, data: Data, input?: options.EnqueueOptions): Promise<Admission> {
    // In memory the answer is known at once. An async function would wait for it all the same, with 300 bytes of promises for each job.
    try {
      this.#assertOpen()
      const request = this.#reader.read(key, data, input)
      const answer = this.#engine.enqueue(request)
      if (!('then' in answer)) return Promise.resolve(this.limits.tellUncounted(answer, request.costs))
      return Promise.resolve(answer).then((answer) => this.limits.tellUncounted(answer, request.costs))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Enqueues many jobs; the verdicts are in the order of the requests. If one request is invalid, none is admitted. */
  async enqueueMany(input: readonly options.EnqueueRequest<Data>[]): Promise<Admission[]> {
    this.#assertOpen()
    const asked = this.#reader.readMany(input)
    const answers = await this.#engine.enqueueMany(asked)
    return answers.map((answer, index) => this.limits.tellUncounted(answer, asked[index]!.costs))
  }

  /** Returns what `enqueue` would answer now, and changes nothing: `asked` is the cost, or `{ cost, costs }`. An accepted forecast has an empty id. */
  async forecast(key: string, asked: number | options.ForecastOptions = 1): Promise<Admission> {
    this.#assertOpen()
    const { cost, costs } = requests.readForecast(key, asked)
    return this.limits.tellUncounted(await this.#engine.forecast(key, cost, costs), costs)
  }

  /**
   * Waits for the caller's turn in the line of `key`, among the jobs and callers that wait there, and resolves when it
   * departs: what the caller does then happens at the key's rate. No handler is involved.
   *
   * @throws TurnRefusedError at once when the line is full or the turn cannot come before the timeout, TurnTimeoutError when
   * it was promised and did not come, the signal's reason, TurnCancelledError or NoLimitError
   */
  async acquire(key: string, input: options.AcquireOptions = {}): Promise<Turn> {
    this.#assertOpen()
    const { request, signal } = requests.readTurn(key, input)
    signal?.throwIfAborted()
    const turn = await this.#engine.turn(request, signal)
    if (!turn.accepted) throw new TurnRefusedError(turn)
    return this.limits.tellUncounted(turn, request.costs)
  }

  /** Takes a turn if one is free now, and otherwise returns the refusal: `not-now` where there would be one later. */
  async tryAcquire(key: string, input: options.TryAcquireOptions = {}): Promise<Turn | TurnRefusal> {
    this.#assertOpen()
    const request = requests.readImmediateTurn(key, input)
    const turn = await this.#engine.turn(request, undefined)
    return turn.accepted ? this.limits.tellUncounted(turn, request.costs) : requests.refusalOfTurn(turn)
  }

  /** Returns a function that waits for its turn and then calls `fn`. It rejects as `acquire` does, and as `fn` does. */
  wrap<This, Args extends unknown[], Value>(
    fn: (this: This, ...args: Args) => Value,
    // Not inferred from the options, whose functions may leave arguments out.
    input: WrapOptions<Args & {}, NoInfer<Awaited<Value>>>,
  ): (this: This, ...args: Args) => Promise<Awaited<Value>> {
    return wrap(fn, input, this)
  }

  /** Takes a waiting job out of its line; false when it is unknown or has departed. */
  async cancel(id: string, input: options.FindOptions = {}): Promise<boolean> {
    return this.#engine.cancel(id, requests.readFind(id, input))
  }

  /**
   * Says what the running attempt of a job really counts, such as `{ tokens: 812 }`, as `job.settle` does in its handler. Resolves to true
   * the first time, and to false later, and when the job is unknown or does not run. `{ fence }` of the start (`job.fence`) keeps a late
   * report from settling another one. @throws (rejects) UnknownUnitError
   */
  async settle(id: string, amounts: Costs, input: options.SettleOptions = {}): Promise<boolean> {
    return this.#engine.settle(requests.readSettle(id, amounts, input))
  }

  /** Stops departures of the key for `forMs` milliseconds; a shorter freeze never shortens a longer one. */
  async freeze(key: string, forMs: number, input: options.FreezeOptions = {}): Promise<void> {
    return this.#engine.freeze(key, requests.readFreeze(key, forMs, input))
  }

  /** Lifts a freeze before its end, as `resume` ends a pause. Returns false when the key was not frozen. */
  async unfreeze(key: string): Promise<boolean> {
    checkKey(key)
    return this.#engine.unfreeze(key)
  }

  /** Stops departures of the key until `resume`; its line still fills up. */
  async pause(key: string): Promise<void> {
    checkKey(key)
    return this.#engine.pause(key)
  }

  /** Ends a pause: departures go on at the rate, without making up for the lost time. */
  async resume(key: string): Promise<void> {
    checkKey(key)
    return this.#engine.resume(key)
  }

  /**
   * Starts a worker that calls `handler` for the jobs of all keys. Several workers share the jobs. A handler may throw a
   * FreezeError to freeze its bucket; any other error fails the attempt.
   */
  work(handler: Handler<Data, Result>, input: WorkOptions = {}): ShapedWorker {
    this.#assertOpen()
    return this.#engine.work(handler, options.parseWork(handler, input))
  }

  /**
   * Runs the schedulers of a shared line in this process, for jobs whose workers are in other processes. Every worker runs
   * them too, unless its option `scheduler` is false. Safe to call twice.
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

  /** Emits an `error` event: for code around a shaper, such as `shapedFetch`, whose error no promise can report. */
  report(error: Error): void {
    this.#emitter.fail(toError(error))
  }

  /**
   * Accepts nothing more, and resolves when the handlers have settled; those that run past `drainMs` are aborted. In memory it first
   * lets the lines drain for `drainMs`, and cancels what still waits; jobs that wait on Redis stay there. Safe to call twice.
   */
  async close(input: options.CloseOptions = {}): Promise<void> {
    const { drainMs } = options.parseClose(input)
    // Before anything else: closing calls listeners, which may call back.
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
