import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ShaperClosedError } from '../core/errors.ts'
import { WorkerLostError } from '../core/handler-errors.ts'
import { settlesWithin } from '../core/within.ts'
import type { Handler } from '../line/attempt.ts'
import { jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { ShapedWorker } from '../line/engine.ts'
import type { WorkSettings } from '../line/options.ts'
import type { Connection } from './connection/connection.ts'
import type { Opening } from './opening.ts'
import type { HandedOver } from './protocol/handed-over.ts'
import type { Recovered } from './protocol/shared-backend.ts'
import type { RedisBackend } from './redis-backend.ts'
import { RedisScheduler } from './scheduler/redis-scheduler.ts'
import { RedisTurns, TURN_LEASE } from './redis-turns.ts'
import { RedisClock } from './slots/redis-clock.ts'
import { BullMqHandoff, LARGEST_BUNDLE } from './transport/bullmq-handoff.ts'
import type { ReceiveOptions, Transport } from './transport/transport.ts'
import { TurnInbox } from './transport/turn-inbox.ts'
import { RedisWorker, type RedisWorkerPorts } from './worker/redis-worker.ts'

/** Jobs that a worker may hold at its gate beside those that run: as many as handlers, within these. */
const FEWEST_AT_GATE = 64
const MOST_AT_GATE = 256
/** What is further is no step but a jump: how far is not to be relied on. Microseconds. */
const LONGEST_STEP = 250 * MILLISECOND
/** By then whoever else has a scheduler has taken over. */
const STAND_IN_AFTER_MS = 2_000
/** Turns take no time, and so no handler. */
const MOST_TURNS = 100_000

export interface RedisRuntimePorts<Result> {
  readonly name: string
  readonly connection: Connection
  readonly backend: RedisBackend
  readonly lookAheadMs: number | undefined
  readonly emitter: Emitter<Result>
  readonly onError: (error: Error) => void
}

/** What makes one kind of worker other than another. */
interface FloorSettings
  extends Pick<
    RedisWorkerPorts<unknown>,
    'lease' | 'prefetch' | 'maxFreezeMs' | 'startsAtEnd' | 'onExpired'
  > {
  readonly concurrency: number
  readonly receive: Transport['receive']
}

/** What a worker process needs beside its workers: BullMQ, the clocks of the shards, and one scheduler for each. */
export class RedisRuntime<Data, Result> {
  readonly #ports: RedisRuntimePorts<Result>
  readonly #workers = new Set<RedisWorker<Data, Result>>()
  #turns: RedisTurns | undefined
  #transport: BullMqHandoff | undefined
  #clocks: readonly RedisClock[] = []
  #schedulers: readonly RedisScheduler[] = []
  #isClosed = false

  constructor(ports: RedisRuntimePorts<Result>) {
    this.#ports = ports
  }

  /** The worker takes its first job once the line is open. */
  work(handler: Handler<Data, Result>, settings: WorkSettings, opening: Opening): ShapedWorker {
    const { concurrency, scheduler, leaseMs, maxFreezeMs } = settings
    const transport = this.#openTransport()
    const worker = this.#openWorker(handler, {
      concurrency,
      lease: leaseMs * MILLISECOND,
      maxFreezeMs,
      prefetch: concurrency + Math.min(MOST_AT_GATE, Math.max(FEWEST_AT_GATE, concurrency)),
      receive: (options) => whenOpen(opening, () => transport.receive(options)),
    })
    this.#startWith(opening, scheduler)
    return worker
  }

  /**
   * The callers of this process; the first has everything opened that their turns need.
   *
   * @throws ShaperClosedError
   */
  turns(opening: Opening): RedisTurns {
    // He came just before, and waited for the line to be opened.
    if (this.#isClosed) throw new ShaperClosedError(this.#ports.name)
    this.#turns ??= this.#openTurns(opening)
    return this.#turns
  }

  #openTurns(opening: Opening): RedisTurns {
    const { name, backend, emitter, onError } = this.#ports
    const turns: RedisTurns = new RedisTurns({
      name,
      backend,
      clock: systemClock,
      drop: (handed) => worker.drop(handed),
      onCancelled: (job) => emitter.emit('cancelled', jobEvent(job, job.at)),
      onError,
    })
    const receive = (options: ReceiveOptions) => {
      const onDelivery = async (handed: HandedOver) => {
        if (turns.noteHanded(handed)) await options.onDelivery(handed)
      }
      const next = (shard: number, atMost: number) => backend.awaitTurns(shard, turns.caller, atMost)
      return new TurnInbox(backend.shards, next, { ...options, onDelivery })
    }
    const worker = this.#openWorker(turns.depart as Handler<Data, Result>, {
      concurrency: MOST_TURNS,
      lease: TURN_LEASE,
      prefetch: MOST_TURNS,
      // A turn ends at its departure, and freezes nothing.
      maxFreezeMs: 0,
      startsAtEnd: true,
      receive: (options) => whenOpen(opening, async () => receive(options)),
      onExpired: ({ id }) => turns.expired(id),
    })
    this.#startWith(opening, true)
    return turns
  }

  #openWorker(handler: Handler<Data, Result>, settings: FloorSettings): RedisWorker<Data, Result> {
    const { name, backend, emitter } = this.#ports
    const { concurrency, receive, ...ports } = settings
    this.#openTransport()
    const worker: RedisWorker<Data, Result> = new RedisWorker(handler, concurrency, {
      name,
      worker: randomBytes(6).toString('base64url'),
      backend,
      transport: { receive },
      clock: systemClock,
      storeClock: (shard) => this.#clocks[shard]!,
      emitter,
      ...ports,
      onClosed: () => this.#workers.delete(worker),
    })
    this.#workers.add(worker)
    return worker
  }

  #startWith(opening: Opening, isScheduler: boolean): void {
    opening.whenOpen(() => {
      for (const clock of this.#clocks) clock.start()
      if (isScheduler) this.#schedule()
    })
  }

  /** The schedulers alone, for workers in other processes. */
  schedule(opening: Opening): void {
    this.#openTransport()
    opening.whenOpen(() => this.#schedule())
  }

  /** Waiting jobs stay in Redis; those at the gate go back to their lines. */
  async close(drainMs: number | undefined): Promise<void> {
    this.#isClosed = true
    const until = drainMs === undefined ? undefined : systemClock.now() + drainMs * MILLISECOND
    await this.#turns?.close(drainMs)
    // The worker of turns would wait for what waits in Redis.
    this.#ports.backend.stopTurns()
    const leftMs = until === undefined ? undefined : Math.max(0, (until - systemClock.now()) / MILLISECOND)
    await this.#retire(Promise.all([...this.#workers].map((worker) => worker.close({ drainMs: leftMs }))))
    this.#ports.backend.stopWaiting()
    for (const clock of this.#clocks) clock.stop()
    await this.#transport?.close()
  }

  /**
   * Others hand over from here on: handlers of this process may run for long. After a while it stands for election again until
   * they have ended, since workers elsewhere may have no scheduler but this one.
   */
  async #retire(ended: Promise<unknown>): Promise<void> {
    const stop = () => Promise.all(this.#schedulers.map((scheduler) => scheduler.stop()))
    await stop()
    if (await settlesWithin(STAND_IN_AFTER_MS, ended)) return
    for (const scheduler of this.#schedulers) scheduler.start()
    await ended
    await stop()
  }

  #openTransport(): BullMqHandoff {
    if (this.#transport !== undefined) return this.#transport
    const { backend, connection, onError } = this.#ports
    this.#clocks = backend.tags.map(
      (_, shard) =>
        new RedisClock({
          clock: systemClock,
          ping: () => backend.time(shard),
          onJump: (by) => mindStep(backend, shard, by),
        }),
    )
    this.#transport = new BullMqHandoff({ tags: backend.tags, open: () => connection.transport(), onError })
    return this.#transport
  }

  /** One scheduler for each shard serves all workers of the process. */
  #schedule(): void {
    if (this.#isClosed || this.#schedulers.length > 0) return
    const { name, backend, emitter, lookAheadMs, onError } = this.#ports
    const transport = this.#openTransport()
    this.#schedulers = backend.tags.map(
      (_, shard) =>
        new RedisScheduler({
          name: randomBytes(6).toString('base64url'),
          shaper: name,
          shard,
          backend,
          transport,
          // More than there may be, rather than fewer: what lies there for long loses its lease, and comes back.
          unfetched: async (of) => LARGEST_BUNDLE * (await transport.unfetched(of)),
          sweep: (of) => transport.sweep(of, (jobs) => backend.areHanded(of, jobs)),
          clock: systemClock,
          ...(lookAheadMs !== undefined && { lookAheadMs }),
          onExpired: (job) => emitter.emit('expired', jobEvent(job, job.at)),
          onRecovered: (job) => this.#tellRecovered(job),
          onError,
        }),
    )
    for (const [shard, scheduler] of this.#schedulers.entries()) {
      scheduler.start()
      // BullMQ takes its time with the first call: better now than when the first job is due.
      transport.unfetched(shard).catch(() => undefined)
    }
  }

  #tellRecovered(job: Recovered): void {
    const { emitter } = this.#ports
    const event = jobEvent(job, job.at)
    if (job.gone) {
      emitter.emit('cancelled', event)
      return
    }
    emitter.emit('recovered', { ...event, mayHaveStarted: job.crashed })
    if (job.failed) emitter.emit('failed', { ...event, error: new WorkerLostError(job.id) })
  }
}

/** A clock that was set back by a little makes starts late, never early. */
async function mindStep(backend: RedisBackend, shard: number, by: number): Promise<void> {
  if (Math.abs(by) > LONGEST_STEP) await backend.quarantine(shard, undefined, 'jump', by)
  else if (by > 0) await backend.quarantine(shard, undefined, 'step', by)
}

async function whenOpen<Value>(opening: Opening, then: () => Promise<Value>): Promise<Value> {
  await opening.ready()
  return then()
}
