import type { BackendJob } from '../backend/backend.ts'
import type { SharedBackend, SharedJob } from '../backend/shared-backend.ts'
import type { Clock } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { LeaseLostError, ShaperClosedError } from '../core/errors.ts'
import { toError } from '../core/thrown.ts'
import { type HandedOver, nameOf } from '../gate/handed-over.ts'
import { Leases } from '../gate/leases.ts'
import type { Grant, Start } from '../gate/passage.ts'
import type { RedisClock } from '../gate/redis-clock.ts'
import { ShardCalls } from '../gate/shard-calls.ts'
import { SharedGate } from '../gate/shared-gate.ts'
import type { Transport } from '../handoff/transport.ts'
import type { Attempt, Handler, Settled } from './attempt.ts'
import type { Emitter } from './emitter.ts'
import { jobEvent } from './job-event.ts'
import { outcomeOf } from './outcome.ts'
import { Room } from './room.ts'
import { RunningAttempts } from './running-attempts.ts'
import { ShapedJob } from './shaped-job.ts'
import type { ShapedWorker } from './shaped-worker.ts'
import { SharedAttempt } from './shared-attempt.ts'
import { StartWatches } from './start-watch.ts'
import { tellEnd } from './tell-end.ts'
import { publishDeparture, publishHandlerEnd, publishLateStart } from './tell-start.ts'
import { WorkerIntake } from './worker-intake.ts'
import { WorkerReports } from './worker-reports.ts'

/** What a worker needs of lines that are shared. */
export interface SharedWorkerPorts<Result> {
  /** The shaper's name. */
  readonly name: string
  /** Names this worker among all that share the lines. */
  readonly worker: string
  readonly backend: Pick<SharedBackend, 'gate' | 'start' | 'finish' | 'renew'>
  readonly transport: Pick<Transport, 'receive'>
  readonly clock: Clock
  /** The clock of the store that keeps the shard; whoever made it starts and stops it. */
  readonly storeClock: (shard: number) => RedisClock
  readonly emitter: Emitter<Result>
  /** For how long a job that is not renewed belongs to nobody else; microseconds. */
  readonly lease: number
  /** Jobs that may be held at once: those that run, and those that wait at the gate. */
  readonly prefetch: number
  /** The handler lets somebody go, who has gone when it ends: only then is it known when he did. */
  readonly startsAtEnd?: boolean
  /** A job's deadline came at the gate. */
  readonly onExpired?: ((job: SharedJob) => void) | undefined
  /** The worker takes no more jobs, and none of its handlers runs. */
  onClosed(): void
}

/** A process that goes down is no fault of the job: others start it again, and no attempt is lost. */
const GIVEN_BACK = { kind: 'freeze', duration: 0 } as const

/**
 * Runs one handler on the jobs of shared lines that the gate lets through. It holds each under a lease until the store
 * knows how it ended; one whose lease is lost is aborted, and what becomes of it is not told to the store.
 */
export class SharedWorker<Data, Result> implements ShapedWorker {
  readonly concurrency: number
  readonly #handler: Handler<Data, Result>
  readonly #ports: SharedWorkerPorts<Result>
  readonly #attempts: RunningAttempts<Data, Result>
  readonly #attemptOf = new Map<string, Attempt<Data, Result>>()
  /** Jobs that were started and of whose end the store was not told yet. */
  readonly #runs = new Set<Promise<void>>()
  readonly #watches: StartWatches
  readonly #leases: Leases
  readonly #calls: ShardCalls
  readonly #gate: SharedGate
  readonly #intake: WorkerIntake
  readonly #room: Room
  #closed: Promise<void> | undefined

  constructor(handler: Handler<Data, Result>, concurrency: number, ports: SharedWorkerPorts<Result>) {
    this.#handler = handler
    this.concurrency = concurrency
    this.#ports = ports
    const { clock, emitter, prefetch, transport } = ports
    const onError = (error: Error) => emitter.fail(error)
    this.#attempts = new RunningAttempts(clock)
    this.#watches = new StartWatches((shard) => ports.storeClock(shard).now())
    this.#leases = new Leases({ ...ports, onLost: (handed) => this.#onLost(handed) })
    this.#calls = new ShardCalls({ ...ports, onError })
    this.#gate = new SharedGate({
      ...ports,
      concurrency,
      calls: this.#calls,
      leases: this.#leases,
      prepare: (job, handed, grant) => this.#prepare(job, handed, grant),
      onMissed: (job) => publishLateStart(ports.name, job),
      onExpired: (job) => {
        emitter.emit('expired', jobEvent(job, job.at))
        ports.onExpired?.(job)
      },
      onError,
    })
    this.#room = new Room(prefetch)
    const onDelivery = (handed: HandedOver) => this.#take(handed)
    this.#intake = new WorkerIntake(transport, clock, { onDelivery, onError })
  }

  get running(): number {
    return this.#attempts.size
  }

  /** Jobs that wait at the gate. */
  get waiting(): number {
    return this.#gate.waiting
  }

  /** Slots that came when this process was not ready, and were moved. */
  get missedSlots(): number {
    return this.#gate.missedSlots
  }

  /**
   * Takes no more jobs, gives back those that have not started, and resolves when the handlers that run have settled
   * and the store knows. The first call decides how; the later ones wait for the same end.
   *
   * @param options.drainMs handlers that still run then are aborted, and their jobs go back to their lines with their
   * attempt; absent: they are waited for
   */
  close({ drainMs }: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#closed ??= this.#close(drainMs)
    return this.#closed
  }

  /** Whoever took the job on does not want it any more: if it has not started, it never will. */
  drop(handed: HandedOver): void {
    this.#gate.drop(handed)
  }

  /** Aborts what runs, without waiting for handlers that do not listen. */
  abandon(): void {
    for (const attempt of this.#attempts) attempt.stop(new ShaperClosedError(this.#ports.name))
  }

  async #close(drainMs: number | undefined): Promise<void> {
    const { clock, emitter, onClosed } = this.#ports
    const stopped = this.#intake.stop()
    this.#room.open()
    this.#leases.hurry()
    const disarm =
      drainMs === undefined
        ? undefined
        : clock.wake(clock.now() + drainMs * MILLISECOND, () => this.abandon(), Number.POSITIVE_INFINITY)
    await this.#gate.close()
    await Promise.all(this.#runs)
    disarm?.()
    try {
      await stopped
      await this.#intake.close()
    } catch (error) {
      emitter.fail(toError(error))
    }
    onClosed()
  }

  /** Once a job is at the gate its lease sees to it, and the transport may forget it. */
  async #take(handed: HandedOver): Promise<void> {
    await this.#room.take()
    void this.#gate.take(handed).finally(() => this.#room.release())
  }

  /** The data are read before the slot comes: nothing that takes time may stand between it and the handler. */
  #prepare(job: BackendJob, handed: HandedOver, grant: Grant): Start {
    const data: Data = JSON.parse(job.data)
    return (startsAt) => {
      const run = this.#start(job, handed, data, grant, startsAt)
      this.#runs.add(run)
      void run.then(() => this.#runs.delete(run))
      return run
    }
  }

  /** Listeners are told after the handler was called, yet before they are told of what it set off. */
  #start(job: BackendJob, handed: HandedOver, data: Data, grant: Grant, startsAt: number): Promise<void> {
    const { name: shaper, clock, emitter, startsAtEnd } = this.#ports
    const reports = new WorkerReports({ clock, calls: this.#calls, leases: this.#leases }, handed)
    const watch = this.#watches.of(handed.shard)
    const name = nameOf(handed)
    return new Promise((resolve) => {
      const onSettled = (attempt: Attempt<Data, Result>, settled: Settled<Result>) => {
        this.#attempts.delete(attempt)
        this.#attemptOf.delete(name)
        this.#gate.release()
        // After the call of a handler that settles at once: the time of the start is told along.
        const now = clock.now()
        if (startsAtEnd) reports.noteStart(Math.max(startsAt, begunBy()))
        queueMicrotask(() => {
          publishHandlerEnd(shaper, attempt, settled, now)
          void this.#end(job, handed, reports, settled).then(resolve)
        })
      }
      const attempt = new SharedAttempt(new ShapedJob(job, data, startsAt), job, clock.now(), onSettled)
      let begunBy = () => startsAt
      emitter.hold()
      try {
        if (emitter.hears('departed')) {
          emitter.emit('departed', { ...jobEvent(job, startsAt), waitedMs: attempt.job.waitedMs })
        }
        this.#attempts.add(attempt)
        this.#attemptOf.set(name, attempt)
        begunBy = watch.watch()
        attempt.start(this.#handler)
        const startedAt = Math.max(startsAt, begunBy())
        publishDeparture(shaper, job, grant.pace, grant.slot, startedAt)
        if (!startsAtEnd) void reports.start(startedAt)
      } finally {
        emitter.release()
      }
    })
  }

  async #end(
    job: BackendJob,
    handed: HandedOver,
    reports: WorkerReports,
    settled: Settled<Result>,
  ): Promise<void> {
    const { emitter } = this.#ports
    if (!settled.ok && settled.error instanceof LeaseLostError && !this.#leases.isHeld(handed)) {
      emitter.fail(settled.error)
      return
    }
    const isCutOff = !settled.ok && settled.error instanceof ShaperClosedError
    const outcome = isCutOff ? GIVEN_BACK : outcomeOf(settled, job, true, Math.random, emitter)
    const answer = await reports.end(outcome)
    if (answer === undefined || !answer.isMine) {
      emitter.fail(new LeaseLostError(job.id))
      return
    }
    const { at, readyAt } = answer
    if (isCutOff) {
      emitter.emit('returned', { ...jobEvent(job, at), retryAt: at / MILLISECOND })
      return
    }
    tellEnd(emitter, job, settled, readyAt === undefined ? outcome : { kind: outcome.kind, readyAt }, at)
  }

  #onLost(handed: HandedOver): void {
    this.#gate.drop(handed)
    this.#attemptOf.get(nameOf(handed))?.stop(new LeaseLostError(handed.id))
  }
}
