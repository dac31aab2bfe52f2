import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ShaperClosedError } from '../core/errors.ts'
import type { Handler } from '../line/attempt.ts'
import { jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { ShapedWorker } from '../line/engine.ts'
import type { WorkSettings } from '../line/options.ts'
import type { Connection } from './connection/connection.ts'
import type { Opening } from './opening.ts'
import type { RedisBackend } from './redis-backend.ts'
import { RedisTurns } from './redis-turns.ts'
import { Schedulers } from './scheduler/schedulers.ts'
import { RedisClock } from './slots/redis-clock.ts'
import { BullMqHandoff } from './transport/bullmq-handoff.ts'
import type { Verbs } from './verbs/verbs.ts'
import { readJob } from './views/job.ts'
import { RedisWorker, type WorkerSettings } from './worker/redis-worker.ts'

/** Jobs that a worker may hold at its gate beside those that run: as many as handlers, within these. */
const FEWEST_AT_GATE = 64
const MOST_AT_GATE = 256
/** A clock that moved further has jumped: how far is then not to be relied on. Microseconds. */
const LONGEST_STEP = 250 * MILLISECOND

export interface RedisRuntimePorts<Result> {
  readonly name: string
  readonly connection: Connection
  readonly backend: RedisBackend
  readonly opening: Pick<Opening, 'ready' | 'whenOpen'>
  readonly lookAheadMs: number | undefined
  readonly emitter: Emitter<Result>
  readonly onError: (error: Error) => void
}

/** What the workers and schedulers of one process share. */
interface Machinery<Result> {
  readonly transport: BullMqHandoff
  /** One for each shard. */
  readonly clocks: readonly RedisClock[]
  readonly schedulers: Schedulers<Result>
}

/**
 * What one process runs on a line, as far as it was asked for: workers, turns, a scheduler and a clock for each shard, and
 * BullMQ. A process that only enqueues runs none of it.
 */
export class RedisRuntime<Data, Result> {
  readonly #ports: RedisRuntimePorts<Result>
  readonly #workers = new Set<RedisWorker<Data, Result>>()
  #turns: RedisTurns | undefined
  #machinery: Machinery<Result> | undefined
  #isScheduling = false
  #isClosed = false

  constructor(ports: RedisRuntimePorts<Result>) {
    this.#ports = ports
  }

  /** The worker takes its first job once the line is open. */
  work(handler: Handler<Data, Result>, settings: WorkSettings): ShapedWorker {
    const { concurrency, scheduler, leaseMs, maxFreezeMs, maxTimeoutMs } = settings
    const { transport } = this.#open()
    const worker = this.#openWorker(handler, {
      concurrency,
      lease: leaseMs * MILLISECOND,
      maxFreezeMs,
      maxTimeoutMs,
      prefetch: concurrency + Math.min(MOST_AT_GATE, Math.max(FEWEST_AT_GATE, concurrency)),
      receive: (options) => transport.receive(options),
    })
    this.#startWhenOpen(scheduler)
    return worker
  }

  /**
   * The turns of this process; the first call starts all that they need.
   *
   * @throws ShaperClosedError
   */
  turns(): RedisTurns {
    const { name, backend, emitter, onError } = this.#ports
    // The call may have been made before the line was closed, and have waited for it to open.
    if (this.#isClosed) throw new ShaperClosedError(name)
    if (this.#turns !== undefined) return this.#turns
    this.#turns = new RedisTurns({
      name,
      backend,
      job: (id) => readJob(backend.store, id),
      clock: systemClock,
      openWorker: (handler, settings) => this.#openWorker(handler as Handler<Data, Result>, settings),
      onCancelled: (job) => emitter.emit('cancelled', jobEvent(job, job.at)),
      onError,
    })
    this.#startWhenOpen(true)
    return this.#turns
  }

  /** The schedulers alone, for workers in other processes. */
  schedule(): void {
    this.#open()
    this.#ports.opening.whenOpen(() => this.#startSchedulers())
  }

  /** Waiting jobs stay in Redis; those at the gate go back to their lines. */
  async close(drainMs: number | undefined): Promise<void> {
    const { backend } = this.#ports
    this.#isClosed = true
    const until = drainMs === undefined ? undefined : systemClock.now() + drainMs * MILLISECOND
    await this.#turns?.close(drainMs)
    // The worker of turns would wait for what waits in Redis.
    backend.inboxes.stop()
    const leftMs = until === undefined ? undefined : Math.max(0, (until - systemClock.now()) / MILLISECOND)
    const ended = Promise.all([...this.#workers].map((worker) => worker.close({ drainMs: leftMs })))
    // Handlers of this process may run for long.
    if (this.#isScheduling) await this.#machinery?.schedulers.retire(ended)
    await ended
    backend.wakes.stop()
    for (const clock of this.#machinery?.clocks ?? []) clock.stop()
    await this.#machinery?.transport.close()
  }

  #openWorker(handler: Handler<Data, Result>, settings: WorkerSettings): RedisWorker<Data, Result> {
    const { name, backend, emitter, opening } = this.#ports
    const { clocks } = this.#open()
    const { receive } = settings
    const worker: RedisWorker<Data, Result> = new RedisWorker(handler, {
      ...settings,
      receive: async (options) => {
        await opening.ready()
        return receive(options)
      },
      name,
      worker: randomBytes(6).toString('base64url'),
      backend: backend.verbs,
      clock: systemClock,
      storeClock: (shard) => clocks[shard]!,
      emitter,
      onClosed: () => this.#workers.delete(worker),
    })
    this.#workers.add(worker)
    return worker
  }

  #startWhenOpen(isScheduler: boolean): void {
    const { clocks } = this.#open()
    this.#ports.opening.whenOpen(() => {
      for (const clock of clocks) clock.start()
      if (isScheduler) this.#startSchedulers()
    })
  }

  #startSchedulers(): void {
    if (this.#isClosed || this.#isScheduling) return
    this.#isScheduling = true
    this.#open().schedulers.start()
  }

  #open(): Machinery<Result> {
    this.#machinery ??= this.#makeMachinery()
    return this.#machinery
  }

  #makeMachinery(): Machinery<Result> {
    const { backend, connection, onError } = this.#ports
    const { shards, tags } = backend.store
    const transport = new BullMqHandoff({ tags, open: () => connection.transport(), onError })
    const clocks = tags.map(
      (_, shard) =>
        new RedisClock({
          clock: systemClock,
          ping: () => backend.store.time(shard),
          onJump: (by) => reportStep(backend.verbs, shard, by),
        }),
    )
    return { transport, clocks, schedulers: new Schedulers({ ...this.#ports, shards, transport }) }
  }
}

/**
 * Reports to the shard that its clock was moved by so many microseconds. One that was set back by a little makes starts late,
 * never early, and is not reported.
 */
export async function reportStep(verbs: Pick<Verbs, 'quarantine'>, shard: number, by: number): Promise<void> {
  if (Math.abs(by) > LONGEST_STEP) await verbs.quarantine(shard, undefined, 'jump', by)
  else if (by > 0) await verbs.quarantine(shard, undefined, 'step', by)
}
