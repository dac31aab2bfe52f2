import type { Clock } from '../../core/clock.ts'
import type { BucketQueue } from './bucket-queue.ts'
import type { GateEntry, Signal } from './gate-entry.ts'
import type { HandlerPatience } from './handler-patience.ts'
import type { HandlerPermit } from './handler-permit.ts'
import type { WaitingRoom } from './waiting-room.ts'

const COARSE = Number.POSITIVE_INFINITY

/** How the first job of a bucket waits for a handler: while there is room, and for as long as another worker is not the better place. */
export class HandlerWait {
  readonly #clock: Clock
  readonly #room: WaitingRoom
  readonly #patience: HandlerPatience

  constructor(clock: Clock, room: WaitingRoom, patience: HandlerPatience) {
    this.#clock = clock
    this.#room = room
    this.#patience = patience
  }

  /** Resolves when a handler could be taken, or when the jobs of the bucket go back. */
  untilFree(entry: GateEntry, queue: BucketQueue, permit: HandlerPermit): Promise<void> {
    return this.#wait(entry, queue, (onSignal) => permit.whenFree(onSignal))
  }

  /** Takes a permit, without a wait where one is free. */
  async take(entry: GateEntry, queue: BucketQueue, permit: HandlerPermit): Promise<void> {
    if (!entry.isOpen || permit.tryTake()) return
    await this.#wait(entry, queue, (onSignal) => permit.take(onSignal))
  }

  async #wait(entry: GateEntry, queue: BucketQueue, signal: Signal): Promise<void> {
    const { job } = entry
    const clock = this.#clock
    const since = clock.now()
    if (!this.#room.tryEnter(job.key, since)) {
      queue.giveBack()
      return
    }
    let isImpatient = false
    const impatience: Signal = (onSignal) => {
      const look = () => {
        const until = this.#patience.until(job, since)
        isImpatient = until <= clock.now()
        if (isImpatient) onSignal()
        else disarm = clock.wake(until, look, COARSE)
      }
      let disarm = clock.wake(this.#patience.until(job, since), look, COARSE)
      return () => disarm()
    }
    await entry.wait(signal, impatience)
    this.#room.leave(job.key)
    if (isImpatient) queue.giveBack(this.#patience.goesBack(job, since, clock.now()))
  }
}
