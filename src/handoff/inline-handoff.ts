import type { BackendJob } from '../backend/backend.ts'
import type { Handoff, Receiver } from './handoff.ts'

/** Hands jobs to the workers of this process, one after the other, and turns to those who wait for them. */
export class InlineHandoff implements Handoff {
  readonly #callers: Pick<Receiver, 'receive'>
  readonly #receivers: Receiver[] = []
  #next = 0

  constructor(callers: Pick<Receiver, 'receive'>) {
    this.#callers = callers
  }

  add(receiver: Receiver): void {
    this.#receivers.push(receiver)
  }

  remove(receiver: Receiver): void {
    const index = this.#receivers.indexOf(receiver)
    if (index !== -1) this.#receivers.splice(index, 1)
  }

  get hasRoom(): boolean {
    for (const receiver of this.#receivers) if (receiver.hasRoom) return true
    return false
  }

  deliver(job: BackendJob): void {
    if (job.isTurn) {
      this.#callers.receive(job)
      return
    }
    const count = this.#receivers.length
    for (let step = 0; step < count; step++) {
      const receiver = this.#receivers[this.#next++ % count]!
      if (receiver.hasRoom) {
        receiver.receive(job)
        return
      }
    }
    throw new Error(`no worker has room for job ${job.id}: ask hasRoom first`)
  }
}
