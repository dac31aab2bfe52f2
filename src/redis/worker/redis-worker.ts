import type { Clock } from '../../core/clock.ts'
import { handoffs } from '../../core/diagnostics.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { ShaperClosedError } from '../../core/errors.ts'
import { LeaseLostError } from '../../core/handler-errors.ts'
import { toError } from '../../core/thrown.ts'
import type { Attempt, Handler } from '../../line/attempt.ts'
import { jobEvent } from '../../line/emit.ts'
import type { Emitter } from '../../line/emitter.ts'
import type { ShapedWorker } from '../../line/engine.ts'
import { publishLateStart } from '../../line/publish.ts'
import { RunningAttempts } from '../../line/running-attempts.ts'
import { Standstills, StartWatch } from '../../line/start-watch.ts'
import { idOfName } from '../scripts/job-id.ts'
import { Leases } from '../slots/leases.ts'
import type { RedisClock } from '../slots/redis-clock.ts'
import { RedisGate } from '../slots/redis-gate.ts'
import { ShardCalls } from '../slots/shard-calls.ts'
import type { StartHandler } from '../slots/start-sequence.ts'
import type { Grant, StartWindow } from '../slots/start-window.ts'
import type { Transport } from '../transport/transport.ts'
import { type Delivery, deliveryName } from '../transport/transport.ts'
import type { RemovedJob } from '../verbs/handed-job.ts'
import type { Verbs } from '../verbs/verbs.ts'
import { BucketPlaces } from './bucket-places.ts'
import { reportEnd } from './job-end.ts'
import { JobStart, type JobStartPorts } from './job-start.ts'
import { LateStarts } from './late-starts.ts'
import { WorkerIntake } from './worker-intake.ts'

/** How a worker of handlers differs from that of turns. */
export interface WorkerSettings {
  /** Handlers that may run at once. */
  readonly concurrency: number
  /** For how long a job that is not renewed belongs to this worker alone; microseconds. */
  readonly lease: number
  /** Buckets of which jobs may be held at once: those that run, and those that wait at the gate. */
  readonly prefetch: number
  /** No handler freezes its bucket for longer. */
  readonly maxFreezeMs: number
  /** No handler takes longer; absent: as long as its job says. */
  readonly maxTimeoutMs?: number | undefined
  /** The handler releases a caller, which goes on when the handler ends: the start is known only then. */
  readonly startsAtEnd?: boolean
  /** A job's deadline passed at the gate. */
  readonly onExpired?: (job: RemovedJob) => void
  /** Opens the transport. */
  readonly receive: Transport['receive']
}

/** What a worker needs of its line. */
export interface RedisWorkerPorts<Result> extends WorkerSettings {
  /** The shaper's name. */
  readonly name: string
  /** Names this worker among all that share the lines. */
  readonly worker: string
  readonly backend: Pick<Verbs, 'fetch' | 'gate' | 'follow' | 'start' | 'finish' | 'renew' | 'settle'>
  readonly clock: Clock
  /** The clock of the store that keeps the shard; its owner starts and stops it. */
  readonly storeClock: (shard: number) => RedisClock
  readonly emitter: Emitter<Result>
  /** How much processor time this process has used, in microseconds; of the system when absent. */
  readonly processorTime?: () => number
  /** The worker takes no more jobs, and none of its handlers runs. */
  onClosed(): void
}

/**
 * Runs one handler on the jobs that the gate lets through. It holds each under a lease until the store knows how it ended. A
 * job whose lease is lost is aborted, and its end is not reported.
 */
export class RedisWorker<Data, Result> implements ShapedWorker {
  readonly concurrency: number
  readonly #handler: Handler<Data, Result>
  readonly #ports: RedisWorkerPorts<Result>
  readonly #attempts: RunningAttempts<Data, Result>
  readonly #attemptOf = new Map<string, Attempt<Data, Result>>()
  /** Jobs that were started and whose end the store does not know yet. */
  readonly #runs = new Set<Promise<void>>()
  readonly #starts: JobStartPorts<Data, Result>
  readonly #leases: Leases
  readonly #calls: ShardCalls
  readonly #gate: RedisGate
  readonly #intake: WorkerIntake
  readonly #places: BucketPlaces
  #closed: Promise<void> | undefined

  constructor(handler: Handler<Data, Result>, ports: RedisWorkerPorts<Result>) {
    this.#handler = handler
    this.concurrency = ports.concurrency
    this.#ports = ports
    const { clock, concurrency, emitter, prefetch, receive } = ports
    const onError = (error: Error) => emitter.fail(error)
    this.#attempts = new RunningAttempts(clock, ports.maxTimeoutMs)
    this.#leases = new Leases({ ...ports, onLost: (handed) => this.#onLost(handed) })
    this.#calls = new ShardCalls({ ...ports, onError })
    this.#gate = new RedisGate({
      ...ports,
      // The other half is for buckets that find a handler, and wait for their slots.
      room: Math.floor((prefetch - concurrency) / 2),
      calls: this.#calls,
      leases: this.#leases,
      prepare: (grant, handed, window) => this.#prepare(grant, handed, window),
      onMissed: (job) => publishLateStart(ports.name, job),
      onExpired: (job) => {
        emitter.emit('expired', jobEvent(job, job.at))
        ports.onExpired?.(job)
      },
      onError,
      onFollowing: ({ key, shard }, done) => {
        if (handoffs.hasSubscribers)
          handoffs.publish({ shaper: ports.name, shard, jobs: 1, outcome: 'added' })
        this.#places.enter(key)
        void done.finally(() => this.#places.release(key))
      },
    })
    this.#starts = this.#startPorts()
    this.#places = new BucketPlaces(prefetch)
    const onDelivery = (handed: Delivery) => this.#take(handed)
    this.#intake = new WorkerIntake(receive, clock, { onDelivery, onError })
  }

  get running(): number {
    return this.#attempts.size
  }

  /** Jobs that wait at the gate. */
  get waiting(): number {
    return this.#gate.waiting
  }

  /** Slots that passed because this process was not ready, and were moved. */
  get missedSlots(): number {
    return this.#gate.missedSlots
  }

  /**
   * Takes no more jobs, gives back those that have not started, and resolves when the running handlers have settled and the
   * store knows. The first call decides how; later calls wait for the same end.
   *
   * @param options.drainMs handlers that still run then are aborted, and their jobs go back to their lines with their
   * attempt; absent: they are waited for
   */
  close({ drainMs }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#closed ??= this.#close(drainMs)
    return this.#closed
  }

  /** If the job has not started, it does not start any more. */
  drop(handed: Delivery): void {
    this.#gate.drop(handed)
  }

  /** Aborts what runs, without waiting for handlers that ignore their signal. */
  abandon(): void {
    for (const attempt of this.#attempts) attempt.stop(new ShaperClosedError(this.#ports.name))
  }

  async #close(drainMs: number | undefined): Promise<void> {
    const { clock, onClosed } = this.#ports
    const closed = this.#closeIntake()
    this.#places.open()
    this.#leases.endPatience()
    const disarm =
      drainMs === undefined
        ? undefined
        : clock.wake(clock.now() + drainMs * MILLISECOND, () => this.abandon(), Number.POSITIVE_INFINITY)
    await this.#gate.close()
    await Promise.all(this.#runs)
    disarm?.()
    await closed
    // The transport may have brought more meanwhile.
    await this.#gate.close()
    onClosed()
  }

  /** Stops fetching at once, however long handlers still run: what waits in the transport is for other workers. */
  async #closeIntake(): Promise<void> {
    try {
      await this.#intake.stop()
      await this.#intake.close()
    } catch (error) {
      this.#ports.emitter.fail(toError(error))
    }
  }

  /** Resolves when the job is at the gate and another may come: its lease keeps it, and the transport may forget it. */
  async #take(handed: Delivery): Promise<void> {
    await this.#places.take(handed.key)
    void this.#gate.take(handed).finally(() => this.#places.release(handed.key))
    await this.#gate.rested()
  }

  #startPorts(): JobStartPorts<Data, Result> {
    const { name, clock, emitter, maxFreezeMs } = this.#ports
    const { startsAtEnd = false, processorTime } = this.#ports
    return {
      shaper: name,
      clock,
      emitter,
      startsAtEnd,
      standstills: new Standstills(() => clock.now(), processorTime),
      calls: this.#calls,
      leases: this.#leases,
      watch: new StartWatch(),
      lateStarts: new LateStarts(),
      onStop: ({ key }) => this.#gate.stopRun(key),
      settle: (request) => this.#ports.backend.settle(request),
      onEnter: (attempt, handed) => {
        this.#attempts.enter(attempt)
        this.#attemptOf.set(deliveryName(handed), attempt)
      },
      onCalled: (attempt) => this.#attempts.time(attempt),
      onLeave: (attempt, handed) => {
        this.#attempts.delete(attempt)
        this.#attemptOf.delete(deliveryName(handed))
      },
      onSettled: ({ key }) => this.#gate.release(key),
      end: (start, settled) => reportEnd(start, settled, { emitter, maxFreezeMs, leases: this.#leases }),
    }
  }

  #prepare(grant: Grant, handed: Delivery, window: StartWindow): StartHandler {
    const start = new JobStart<Data, Result>(grant, handed, window, this.#starts)
    return () => {
      if (!start.call(this.#handler)) return undefined
      this.#runs.add(start.run)
      void start.run.then(() => this.#runs.delete(start.run))
      return start.run
    }
  }

  #onLost(handed: Delivery): void {
    this.#gate.drop(handed)
    this.#attemptOf.get(deliveryName(handed))?.stop(new LeaseLostError(idOfName(handed.id)))
  }
}
