import type { Clock } from '../core/clock.ts'
import { departedEvent, emitSettled, jobEvent } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { PendingTurns } from '../line/pending-turns.ts'
import { ShapedJob } from '../line/shaped-job.ts'
import { StartWatch } from '../line/start-watch.ts'
import type { TurnPorts as HeldTurn } from '../line/turn.ts'
import type { GatedStart, MemoryGate } from './memory-gate.ts'
import type { Receiver } from './memory-handoff.ts'
import type { JobRecord } from './store/job-record.ts'
import type { MemoryStore } from './store/memory-store.ts'

export interface TurnPorts<Result> {
  readonly store: MemoryStore
  readonly gate: MemoryGate
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  readonly pending: PendingTurns
  /** A turn has departed and ended. */
  onChange(): void
}

/** Lets the callers of this process depart when their turns come. A turn ends when it departs, and may hold its place for longer. */
export class MemoryTurns<Result> implements Pick<Receiver, 'receive'> {
  readonly #ports: TurnPorts<Result>
  readonly #watch = new StartWatch()

  constructor(ports: TurnPorts<Result>) {
    this.#ports = ports
  }

  receive(job: JobRecord): void {
    const { store, gate, clock, emitter, pending } = this.#ports
    const start = gate.pass(job)
    const isHeld = store.held.hold(job, start.at)
    store.finish(job, { kind: 'completed', result: undefined }, start.at)
    const isBound = job.bucket.hasParts
    pending.depart(new ShapedJob(job, undefined, start.at), isBound ? this.#portsOf(job) : undefined)
    emitTurn(emitter, job, isBound ? { isHeld } : {}, start.at)
    // The caller is a promise reaction, and runs when this code has: after the next tick all reactions have run.
    queueMicrotask(() => {
      const emittedAt = clock.now()
      process.nextTick(() => this.#departed(job, start, emittedAt))
    })
  }

  #portsOf(job: JobRecord): HeldTurn {
    const { store, clock, emitter, onChange } = this.#ports
    return {
      settle: (amounts) => {
        const now = clock.now()
        const isFirst = store.starts.settle(job, amounts, now)
        if (isFirst) emitSettled(emitter, job, amounts, now)
        onChange()
        return isFirst
      },
      release: () => {
        const now = clock.now()
        const isHeld = store.held.release(job, now)
        if (isHeld) emitter.emit('released', jobEvent(job, now))
        onChange()
        return isHeld
      },
    }
  }

  /** @param emittedAt when the listeners, which run before the caller, were done: the time they took is lateness */
  #departed(job: JobRecord, start: GatedStart, emittedAt: number): void {
    const { gate, clock, onChange } = this.#ports
    const calledAt = start.at
    const returnedAt = clock.now()
    const delay = emittedAt - calledAt + this.#watch.possibleDelay(job.key, returnedAt - emittedAt)
    gate.started(job, start, { calledAt, returnedAt, delay })
    onChange()
  }
}

/** Emits a turn, which departs and ends at one moment; microseconds. */
function emitTurn<Result>(
  emitter: Emitter<Result>,
  job: JobRecord,
  place: { readonly isHeld?: boolean },
  at: number,
): void {
  emitter.hold()
  emitter.emit('departed', { ...departedEvent(job, at), ...place })
  emitter.emit('completed', { ...jobEvent(job, at), result: undefined as Result })
  emitter.release()
}
