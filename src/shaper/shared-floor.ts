import { randomBytes } from 'node:crypto'
import type { Connection } from '../backend/redis/connection.ts'
import type { Opening } from '../backend/redis/opening.ts'
import type { RedisBackend } from '../backend/redis/redis-backend.ts'
import type { Recovered } from '../backend/shared-backend.ts'
import { MILLISECOND } from '../core/duration.ts'
import { WorkerLostError } from '../core/errors.ts'
import { systemClock } from '../gate/precise-wait.ts'
import { RedisClock } from '../gate/redis-clock.ts'
import { BullMqHandoff, LARGEST_BUNDLE } from '../handoff/bullmq-handoff.ts'
import { SharedScheduler } from '../scheduler/shared-scheduler.ts'
import type { Handler } from './attempt.ts'
import type { Emitter } from './emitter.ts'
import { jobEvent } from './job-event.ts'
import type { WorkSettings } from './options.ts'
import type { ShapedWorker } from './shaped-worker.ts'
import { SharedWorker } from './shared-worker.ts'

/** Jobs that a worker may hold at its gate beside those that run: as many as handlers, within these. */
const FEWEST_AT_GATE = 64
const MOST_AT_GATE = 256

export interface SharedFloorPorts<Result> {
  readonly name: string
  readonly connection: Connection
  readonly backend: RedisBackend
  readonly lookAheadMs: number | undefined
  readonly emitter: Emitter<Result>
  readonly onError: (error: Error) => void
}

/** What a worker process needs beside its workers: BullMQ, the clocks of the shards, and one scheduler for each. */
export class SharedFloor<Data, Result> {
  readonly #ports: SharedFloorPorts<Result>
  readonly #workers = new Set<SharedWorker<Data, Result>>()
  #transport: BullMqHandoff | undefined
  #clocks: readonly RedisClock[] = []
  #schedulers: readonly SharedScheduler[] = []
  #isClosed = false

  constructor(ports: SharedFloorPorts<Result>) {
    this.#ports = ports
  }

  /** The worker takes its first job once the line is open. */
  work(handler: Handler<Data, Result>, settings: WorkSettings, opening: Opening): ShapedWorker {
    const { name, backend, emitter } = this.#ports
    const { concurrency, scheduler, leaseMs } = settings
    const transport = this.#openTransport()
    const worker: SharedWorker<Data, Result> = new SharedWorker(handler, concurrency, {
      name,
      worker: randomBytes(6).toString('base64url'),
      backend,
      transport: { receive: (options) => whenOpen(opening, () => transport.receive(options)) },
      clock: systemClock,
      storeClock: (shard) => this.#clocks[shard]!,
      emitter,
      lease: leaseMs * MILLISECOND,
      prefetch: concurrency + Math.min(MOST_AT_GATE, Math.max(FEWEST_AT_GATE, concurrency)),
      onClosed: () => this.#workers.delete(worker),
    })
    this.#workers.add(worker)
    opening.whenOpen(() => {
      for (const clock of this.#clocks) clock.start()
      if (scheduler) this.#schedule()
    })
    return worker
  }

  /** The schedulers alone, for workers in other processes. */
  schedule(opening: Opening): void {
    this.#openTransport()
    opening.whenOpen(() => this.#schedule())
  }

  /** Waiting jobs stay in Redis; those at the gate go back to their lines. */
  async close(drainMs: number | undefined): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#workers].map((worker) => worker.close({ drainMs })))
    this.#ports.backend.stopWaiting()
    await Promise.all(this.#schedulers.map((scheduler) => scheduler.stop()))
    for (const clock of this.#clocks) clock.stop()
    await this.#transport?.close()
  }

  #openTransport(): BullMqHandoff {
    if (this.#transport !== undefined) return this.#transport
    const { backend, connection, onError } = this.#ports
    this.#clocks = backend.tags.map(
      (_, shard) =>
        new RedisClock({
          clock: systemClock,
          ping: () => backend.time(shard),
          onJump: () => backend.quarantine(shard),
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
        new SharedScheduler({
          name: randomBytes(6).toString('base64url'),
          shaper: name,
          shard,
          backend,
          transport,
          // More than there may be, rather than fewer: what lies there for long loses its lease, and comes back.
          unfetched: async (of) => LARGEST_BUNDLE * (await transport.unfetched(of)),
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
    emitter.emit('recovered', { ...event, mayHaveStarted: job.crashed })
    if (job.failed) emitter.emit('failed', { ...event, error: new WorkerLostError(job.id) })
  }
}

async function whenOpen<Value>(opening: Opening, then: () => Promise<Value>): Promise<Value> {
  await opening.ready()
  return then()
}
