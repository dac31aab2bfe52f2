import type { Backend, BackendJob } from '../backend/backend.ts'
import type { Gate } from '../gate/gate.ts'
import type { Receiver } from '../handoff/handoff.ts'
import type { Emitter } from './emitter.ts'
import { jobEvent } from './job-event.ts'
import { ShapedJob } from './shaped-job.ts'
import { areStartsWatched, publishDeparture, publishLateStart } from './tell-start.ts'
import type { TurnDesk } from './turn-desk.ts'

export interface LocalTurnPorts<Result> {
  /** The shaper's name. */
  readonly name: string
  readonly backend: Pick<Backend, 'pace' | 'finish'>
  readonly gate: Gate
  readonly emitter: Emitter<Result>
  readonly desk: TurnDesk
  /** A turn has come and ended. */
  onChange(): void
}

/** Gives their turns to those who wait for them in this process. A turn has ended when it has come. */
export class LocalTurns<Result> implements Pick<Receiver, 'receive'> {
  readonly #ports: LocalTurnPorts<Result>

  constructor(ports: LocalTurnPorts<Result>) {
    this.#ports = ports
  }

  receive(job: BackendJob): void {
    const { name, backend, gate, emitter, desk, onChange } = this.#ports
    const pace = areStartsWatched() ? backend.pace(job) : undefined
    const { startsAt } = gate.pass(job)
    backend.finish(job, { kind: 'completed', result: undefined }, startsAt)
    desk.depart(new ShapedJob(job, undefined, startsAt))
    if (pace !== undefined) {
      publishDeparture(name, job, pace, pace.due, startsAt)
      if (startsAt - pace.due > pace.tolerance) publishLateStart(name, job)
    }
    tellTurn(emitter, job, startsAt)
    onChange()
  }
}

/** Tells listeners of a turn, which departs and ends at one moment; microseconds. */
function tellTurn<Result>(emitter: Emitter<Result>, job: BackendJob, at: number): void {
  const event = jobEvent(job, at)
  emitter.hold()
  emitter.emit('departed', { ...event, waitedMs: event.at - job.admittedAt / 1_000 })
  emitter.emit('completed', { ...event, result: undefined as Result })
  emitter.release()
}
