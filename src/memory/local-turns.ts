import type { Clock } from '../core/clock.ts'
import { jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { Backend, BackendJob } from '../line/job.ts'
import type { PendingTurns } from '../line/pending-turns.ts'
import { areStartsWatched, publishDeparture, publishLateStart } from '../line/publish.ts'
import { ShapedJob } from '../line/shaped-job.ts'
import { StartWatch } from '../line/start-watch.ts'
import type { Gate, Passage } from './gate.ts'
import type { Receiver } from './handoff.ts'

export interface LocalTurnPorts<Result> {
  /** The shaper's name. */
  readonly name: string
  readonly backend: Pick<Backend, 'pace' | 'finish'>
  readonly gate: Gate
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  readonly desk: PendingTurns
  /** A turn has come and ended. */
  onChange(): void
}

/** Gives their turns to those who wait for them in this process. A turn has ended when it has come. */
export class LocalTurns<Result> implements Pick<Receiver, 'receive'> {
  readonly #ports: LocalTurnPorts<Result>
  readonly #watch = new StartWatch()

  constructor(ports: LocalTurnPorts<Result>) {
    this.#ports = ports
  }

  receive(job: BackendJob): void {
    const { backend, gate, clock, emitter, desk } = this.#ports
    const pace = areStartsWatched() ? backend.pace(job) : undefined
    const passage = gate.pass(job)
    backend.finish(job, { kind: 'completed', result: undefined }, passage.at)
    desk.depart(new ShapedJob(job, undefined, passage.at))
    emitTurn(emitter, job, passage.at)
    // Its caller goes on with the other reactions to promises, when this code has run: then all of them have been called.
    queueMicrotask(() => {
      const toldAt = clock.now()
      process.nextTick(() => this.#goneOn(job, passage, toldAt, pace))
    })
  }

  /** @param toldAt when listeners had been told, who come before the caller: all of that is lateness */
  #goneOn(
    job: BackendJob,
    passage: Passage,
    toldAt: number,
    pace: ReturnType<Backend['pace']> | undefined,
  ): void {
    const { name, gate, clock, onChange } = this.#ports
    const calledAt = passage.at
    const returnedAt = clock.now()
    const delay = toldAt - calledAt + this.#watch.possibleDelay(job.key, returnedAt - toldAt)
    const startedBy = gate.left(job, passage, { calledAt, returnedAt, delay })
    if (pace !== undefined) {
      publishDeparture(name, job, pace, pace.due, startedBy)
      if (startedBy - pace.due > pace.tolerance) publishLateStart(name, job)
    }
    onChange()
  }
}

/** Tells listeners of a turn, which departs and ends at one moment; microseconds. */
function emitTurn<Result>(emitter: Emitter<Result>, job: BackendJob, at: number): void {
  const event = jobEvent(job, at)
  emitter.hold()
  emitter.emit('departed', { ...event, waitedMs: event.at - job.admittedAt / 1_000 })
  emitter.emit('completed', { ...event, result: undefined as Result })
  emitter.release()
}
