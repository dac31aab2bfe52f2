import { MILLISECOND } from '../core/duration.ts'
import { UnknownUnitError } from '../core/errors.ts'
import type { Costs } from '../core/usage.ts'
import type { WorkerJob } from './job.ts'
import { readAmounts, type Settle } from './settle.ts'

/** What a handler is given. Times are milliseconds, `admittedAt` and `departedAt` since the epoch. */
export class ShapedJob<Data = unknown> {
  readonly id: string
  readonly key: string
  readonly data: Data
  readonly cost: number
  /** What its `enqueue` said that it counts in named units; undefined where it named none. */
  readonly costs?: Costs
  /** 1 is the first. */
  readonly attempt: number
  /**
   * Grows with every start of a key, so that a receiver can refuse a late call of an older start of that key. On Redis it
   * also grows over restarts and failovers; in memory it counts from 1 in each process. Fences of different keys say
   * nothing about each other.
   */
  readonly fence: number
  /**
   * How many starts of this job were cut off by a crash: the worker died, or stood still for longer than its lease. Such
   * a start may have had effects and does not count as an attempt. 0 at first, and always without a connection.
   */
  readonly crashes: number
  readonly admittedAt: number
  readonly departedAt: number
  readonly waitedMs: number
  /** What its `enqueue` said of the span that asked for it (W3C Trace Context). */
  readonly traceparent?: string
  #abort: AbortController | undefined
  #reasonToStop: (() => Error | undefined) | undefined
  #settle: Settle | undefined
  /** Of a turn whose limit has more than a pace: whether it holds a place. @internal */
  declare readonly holdsPlace?: boolean

  /** @internal */
  constructor(job: WorkerJob, data: Data, startsAt: number) {
    this.id = job.id
    this.key = job.key
    this.data = data
    this.cost = job.cost
    if (job.costs !== undefined) this.costs = job.costs
    this.attempt = job.attempt
    this.fence = job.fence
    this.crashes = job.crashes
    this.admittedAt = job.admittedAt / MILLISECOND
    this.departedAt = startsAt / MILLISECOND
    this.waitedMs = (startsAt - job.admittedAt) / MILLISECOND
    this.traceparent = job.traceparent
  }

  /**
   * Aborts when the attempt has taken longer than its `timeoutMs`, or longer than the `drainMs` of a close; on Redis also
   * when the lease of the job is lost, or when the process stood still before the handler's first statement.
   */
  get signal(): AbortSignal {
    // Made when it is first asked for: most handlers of small jobs never do.
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      const reason = this.#reasonToStop?.()
      if (reason !== undefined) this.#abort.abort(reason)
    }
    return this.#abort.signal
  }

  /**
   * Says what this attempt really counts, such as `{ tokens: 812 }`: whole numbers from 0 on. What it was charged beyond that is
   * free at once; what it was charged less makes later jobs wait longer. Resolves to true the first time, and to false later and
   * once the attempt has ended. An attempt that is never settled counts its estimate.
   *
   * @throws (rejects) UnknownUnitError for a unit that the limit does not count, InvalidOptionsError
   */
  async settle(amounts: Costs): Promise<boolean> {
    const read = readAmounts(amounts)
    if (this.#settle === undefined) throw new UnknownUnitError(this.key, Object.keys(read)[0]!, [])
    return this.#settle(read)
  }

  /** To be called where the limit has more than a pace; without it no unit is known. @internal */
  settleBy(settle: Settle): void {
    this.#settle = settle
  }

  /** A signal that is first asked for until `unwatch` is aborted when there is a reason. @internal */
  watch(reasonToStop: () => Error | undefined): void {
    this.#reasonToStop = reasonToStop
  }

  /** @internal */
  unwatch(): void {
    this.#reasonToStop = undefined
  }

  /** It departs at this time, in microseconds, instead of the one that it was made with. @internal */
  depart(startsAt: number): void {
    const departure = this as { -readonly [Time in 'departedAt' | 'waitedMs']: number }
    departure.departedAt = startsAt / MILLISECOND
    departure.waitedMs = departure.departedAt - this.admittedAt
  }

  /** @internal */
  abort(reason: Error): void {
    this.#abort ??= new AbortController()
    this.#abort.abort(reason)
  }
}
