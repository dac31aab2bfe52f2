import { randomBytes } from 'node:crypto'
import { systemClock } from '../../core/clock.ts'
import { WorkerLostError } from '../../core/handler-errors.ts'
import { settlesWithin } from '../../core/within.ts'
import { jobEvent } from '../../line/emit.ts'
import type { Emitter } from '../../line/emitter.ts'
import { idOfName } from '../scripts/job-id.ts'
import { type BullMqHandoff, LARGEST_BUNDLE } from '../transport/bullmq-handoff.ts'
import type { Recovered } from '../verbs/recover.ts'
import type { Verbs } from '../verbs/verbs.ts'
import { RedisScheduler, type RedisSchedulerOptions } from './redis-scheduler.ts'

/** By then the scheduler of another process, if there is one, has been elected. */
const STAND_IN_AFTER_MS = 2_000

export interface SchedulersPorts<Result> {
  /** The shaper's name. */
  readonly name: string
  readonly shards: number
  readonly backend: {
    readonly verbs: RedisSchedulerOptions['backend'] & Pick<Verbs, 'areHanded'>
    readonly wakes: RedisSchedulerOptions['wakes']
  }
  readonly transport: Pick<BullMqHandoff, 'hand' | 'take' | 'unfetched' | 'sweep'>
  readonly lookAheadMs: number | undefined
  readonly emitter: Emitter<Result>
  readonly onError: (error: Error) => void
}

/** The schedulers of one process: one for each shard serves all of its workers. */
export class Schedulers<Result> {
  readonly #ports: SchedulersPorts<Result>
  readonly #schedulers: readonly RedisScheduler[]

  constructor(ports: SchedulersPorts<Result>) {
    this.#ports = ports
    this.#schedulers = Array.from({ length: ports.shards }, (_, shard) => this.#scheduler(shard))
  }

  start(): void {
    for (const [shard, scheduler] of this.#schedulers.entries()) {
      scheduler.start()
      // The first call of BullMQ is slow: better now than when the first job is due.
      this.#ports.transport.unfetched(shard).catch(() => undefined)
    }
  }

  /**
   * Stops, so that other processes hand over from now on, and resolves when `ended` has settled. Where that takes longer than
   * two seconds, they stand for election again until then: workers elsewhere may have no schedulers but these.
   */
  async retire(ended: Promise<unknown>): Promise<void> {
    await this.#stop()
    if (await settlesWithin(STAND_IN_AFTER_MS, ended)) return
    for (const scheduler of this.#schedulers) scheduler.start()
    await ended
    await this.#stop()
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#schedulers.map((scheduler) => scheduler.stop()))
  }

  #scheduler(shard: number): RedisScheduler {
    const { name, backend, transport, lookAheadMs, emitter, onError } = this.#ports
    return new RedisScheduler({
      name: randomBytes(6).toString('base64url'),
      shaper: name,
      shard,
      backend: backend.verbs,
      wakes: backend.wakes,
      transport,
      // An upper bound: what stays unfetched for long loses its lease and comes back.
      unfetched: async (of) => LARGEST_BUNDLE * (await transport.unfetched(of)),
      sweep: (of) => transport.sweep(of, (jobs) => backend.verbs.areHanded(of, jobs)),
      clock: systemClock,
      ...(lookAheadMs !== undefined && { lookAheadMs }),
      onExpired: (job) => emitter.emit('expired', jobEvent(job, job.at)),
      onRecovered: (job) => this.#emitRecovered(job),
      onError,
    })
  }

  #emitRecovered(job: Recovered): void {
    const { emitter } = this.#ports
    const id = idOfName(job.id)
    const event = jobEvent({ ...job, id }, job.at)
    if (job.gone || job.lapsed) {
      emitter.emit(job.gone ? 'cancelled' : 'holdExpired', event)
      return
    }
    emitter.emit('recovered', { ...event, mayHaveStarted: job.crashed })
    if (job.failed) emitter.emit('failed', { ...event, error: new WorkerLostError(id) })
  }
}
