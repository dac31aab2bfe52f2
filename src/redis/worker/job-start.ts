import { LeaseLostError, type StartedLateError } from '../../core/handler-errors.ts'
import { Attempt, type Handler, type Settled } from '../../line/attempt.ts'
import { departedEvent, jobEvent } from '../../line/emit.ts'
import type { WorkerJob } from '../../line/job.ts'
import { publishDeparture, publishHandlerEnd, publishLateStart } from '../../line/publish.ts'
import { ShapedJob } from '../../line/shaped-job.ts'
import type { Reading, Standstills, StartWatch } from '../../line/start-watch.ts'
import type { Grant, StartWindow } from '../slots/start-window.ts'
import type { Delivery } from '../transport/transport.ts'
import type { LateStarts } from './late-starts.ts'
import { goneOn, StartSettling, type StartSettlingPorts } from './start-settling.ts'
import { type ReportPorts, WorkerReports } from './worker-reports.ts'

/** An attempt that departs by the store's clock, which may be moved, and is timed by that of the process. */
class TimedAttempt<Data, Result> extends Attempt<Data, Result> {
  #startedAt = Number.POSITIVE_INFINITY

  /** By the clock of the process, in microseconds; Infinity: it has not started. */
  override get startedAt(): number {
    return this.#startedAt
  }

  /** Notes that it was started at the local time `at`. */
  begin(at: number): void {
    this.#startedAt = at
  }
}

export interface JobStartPorts<Data, Result> extends ReportPorts, StartSettlingPorts<Result> {
  /** The shaper's name. */
  readonly shaper: string
  readonly watch: StartWatch
  readonly lateStarts: LateStarts
  readonly standstills: Standstills
  /** The attempt counts as one that runs. */
  onEnter(attempt: TimedAttempt<Data, Result>, handed: Delivery): void
  /** Its handler was called. */
  onCalled(attempt: TimedAttempt<Data, Result>): void
  /** It settled, and its handler is free. */
  onSettled(handed: Delivery): void
  /** It does not run, or not any more. */
  onLeave(attempt: TimedAttempt<Data, Result>, handed: Delivery): void
  /** Reports the end; resolves when the store knows. */
  end(start: JobStart<Data, Result>, settled: Settled<Result>): Promise<void>
}

/**
 * One start of a job that was granted a slot. All that takes time is done in the constructor, before the slot comes; the last
 * look at the clock and the lease is the statement before the call of the handler.
 */
export class JobStart<Data, Result> {
  readonly job: WorkerJob
  readonly handed: Delivery
  readonly reports: WorkerReports
  /** Resolves when the job need not be held any more. */
  readonly run: Promise<void>
  readonly #ports: JobStartPorts<Data, Result>
  readonly #grant: Grant
  readonly #window: StartWindow
  readonly #attempt: TimedAttempt<Data, Result>
  #resolve: () => void = () => undefined
  #beforeLook: Reading | undefined
  #startsAt = Number.NaN
  #departedAt = Number.NaN
  #emittedAt = Number.NaN
  #late: StartedLateError | undefined
  /** The handler asked for its signal in time: what comes after that does not make the start late. */
  #wasInTime = false
  #isSettled = false
  #countedAt = Number.NaN

  constructor(grant: Grant, handed: Delivery, window: StartWindow, ports: JobStartPorts<Data, Result>) {
    const { job } = grant
    this.job = job
    this.handed = handed
    this.reports = new WorkerReports(ports, handed)
    this.run = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#ports = ports
    this.#grant = grant
    this.#window = window
    const shaped = new ShapedJob<Data>(job, dataOf(grant), grant.startAt)
    shaped.watch(() => {
      const reason = this.#reasonToStop(ports.clock.now())
      this.#wasInTime = reason === undefined
      return reason
    })
    const settling = new StartSettling(this, ports)
    shaped.settleBy((amounts) => settling.settle(amounts))
    if (grant.holdsPlace !== undefined) Object.assign(shaped, { holdsPlace: grant.holdsPlace })
    this.#attempt = new TimedAttempt(shaped, job, (_, settled) => this.#settle(settled))
  }

  /** The time of the `departed` event: the store's clock as this process knows it; microseconds. */
  get departedAt(): number {
    return this.#departedAt
  }

  /** When a turn started, as the store counts it; NaN: its caller has not gone on yet. */
  get countedAt(): number {
    return this.#countedAt
  }

  /** By the store's clock as this process knows it; microseconds. */
  get now(): number {
    // By the error of the clock the start counts as later than it was looked at: nothing after it is before it.
    return Math.max(this.#departedAt, this.#startsAt + this.#ports.clock.now() - this.#window.lookedAt)
  }

  /** It is a turn that runs until it gives its place back. */
  get holdsPlace(): boolean {
    return this.#grant.holdsPlace === true
  }

  /** Why the signal was aborted, where the start was too late for its slot. */
  get late(): StartedLateError | undefined {
    return this.#late
  }

  /** Takes the last look and calls the handler. False: the look forbade it, and the handler was not called. */
  call(handler: Handler<Data, Result>): boolean {
    const { standstills, onEnter, onLeave } = this.#ports
    onEnter(this.#attempt, this.handed)
    this.#beforeLook = standstills.lately()
    const startsAt = this.#window.look()
    if (startsAt === undefined) {
      onLeave(this.#attempt, this.handed)
      return false
    }
    this.#startsAt = startsAt
    this.#emittedAt = this.#window.lookedAt
    this.#attempt.job.depart(startsAt)
    this.#attempt.start(handler)
    this.#lookAgain()
    return true
  }

  /** Times the start: the process may have been held up between the last look and the handler's first statement. */
  #lookAgain(): void {
    const { shaper, clock, startsAtEnd, onCalled } = this.#ports
    const now = clock.now()
    const reason = this.#reasonToStop(now)
    const { job } = this.#attempt
    job.unwatch()
    // It has no time limit but that of its place.
    if (!this.holdsPlace) {
      this.#attempt.begin(this.#window.lookedAt)
      onCalled(this.#attempt)
    }
    const startedAt = startsAtEnd ? this.#startsAt : this.#startedBy(now)
    this.#departedAt = startedAt
    publishDeparture(shaper, this.job, this.#grant.pace, this.#grant.slot, startedAt)
    const isLate = startedAt - this.#grant.due > this.#grant.tolerance
    if (isLate || reason !== undefined) publishLateStart(shaper, this.job)
    this.#emitDeparture(startedAt)
    if (startsAtEnd) this.#emittedAt = clock.now()
    if (reason !== undefined) this.#stop(reason)
    if (!startsAtEnd) void this.reports.start(startedAt)
    else if (this.holdsPlace) void goneOn().then(() => this.#startTurn())
  }

  /** A turn ends with its departure, also where it holds its place for longer. */
  #emitDeparture(startedAt: number): void {
    const { emitter, startsAtEnd } = this.#ports
    const isHeld = startsAtEnd ? this.#grant.holdsPlace : undefined
    emitter.hold()
    if (emitter.hears('departed')) {
      emitter.emit('departed', {
        ...departedEvent(this.job, startedAt),
        ...(isHeld !== undefined && { isHeld }),
      })
    }
    if (isHeld) emitter.emit('completed', { ...jobEvent(this.job, startedAt), result: undefined as Result })
    emitter.release()
  }

  /** Reports the start of a turn that runs on, unless it has given its place back already. */
  #startTurn(): void {
    if (this.#isSettled) return
    this.#countTurn()
    void this.reports.start(this.#countedAt)
  }

  /** Times the start of a turn, once: its caller has gone on. */
  #countTurn(): void {
    if (!Number.isNaN(this.#countedAt)) return
    this.#countedAt = this.#startedBy(this.#ports.clock.now())
    this.reports.noteStart(this.#countedAt)
  }

  /** The latest time of the start, by the store's clock; to be called once for each start. */
  #startedBy(returnedAt: number): number {
    const { lookedAt } = this.#window
    // Listeners hear of a turn before its caller goes on, so all of their time is lateness.
    const before = this.#emittedAt - lookedAt
    const delay = before + this.#ports.watch.possibleDelay(this.job.key, returnedAt - this.#emittedAt)
    return this.#window.startedBy(returnedAt - lookedAt, delay)
  }

  /** Why the handler should not go on; undefined: it may. */
  #reasonToStop(now: number): Error | undefined {
    const { lateStarts, standstills } = this.#ports
    if (this.#window.isLeaseOver(now)) return new LeaseLostError(this.job.id)
    if (this.#wasInTime || this.#window.overdue(now) <= 0) return undefined
    const stoodStill = standstills.since(this.#beforeLook!, this.#window.lookedAt, now)
    this.#late ??= lateStarts.find(this.handed, this.#window, stoodStill)
    return this.#late
  }

  #stop(reason: Error): void {
    if (this.#isSettled) return
    const { leases } = this.#ports
    if (reason instanceof LeaseLostError) leases.lose(this.handed)
    else this.#attempt.job.abort(reason)
  }

  #settle(settled: Settled<Result>): void {
    const { shaper, clock, startsAtEnd, onLeave, onSettled, end } = this.#ports
    this.#isSettled = true
    onLeave(this.#attempt, this.handed)
    onSettled(this.handed)
    // The handler has returned also where it settles at once; the report of the end carries the start.
    const now = clock.now()
    if (startsAtEnd) this.#countTurn()
    queueMicrotask(() => {
      if (!this.holdsPlace) publishHandlerEnd(shaper, this.#attempt, settled, now)
      void end(this, settled).then(this.#resolve)
    })
  }
}

function dataOf<Data>({ read, job }: Grant): Data {
  return read === undefined ? JSON.parse(job.data) : (read.value as Data)
}
