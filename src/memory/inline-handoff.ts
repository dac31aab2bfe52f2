import { HandlerShares } from '../core/handler-shares.ts'
import type { BackendJob } from '../line/job.ts'
import type { Handoff, Receiver } from './handoff.ts'

/** Hands jobs to the workers of this process, one after the other, and turns to those who wait for them. */
export class InlineHandoff implements Handoff {
  readonly #callers: Pick<Receiver, 'receive'>
  readonly #receivers: Receiver[] = []
  /** All workers of this process are one pool. */
  readonly #shares = new HandlerShares(0)
  #next = 0

  constructor(callers: Pick<Receiver, 'receive'>) {
    this.#callers = callers
  }

  add(receiver: Receiver): void {
    this.#receivers.push(receiver)
    this.#shares.resize(receiver.concurrency)
  }

  remove(receiver: Receiver): void {
    const index = this.#receivers.indexOf(receiver)
    if (index === -1) return
    this.#receivers.splice(index, 1)
    this.#shares.resize(-receiver.concurrency)
  }

  get hasRoom(): boolean {
    for (const receiver of this.#receivers) if (receiver.hasRoom) return true
    return false
  }

  mayTake(key: string, now: number): boolean {
    return this.#shares.mayTake(key, now)
  }

  /** Whether handlers that are free are kept for other keys. */
  withholdsFrom(key: string): boolean {
    return !this.#shares.allows(key)
  }

  /** A handler of the key has ended. */
  release(key: string): void {
    this.#shares.release(key)
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
        this.#shares.take(job.key)
        receiver.receive(job)
        return
      }
    }
    throw new Error(`no worker has room for job ${job.id}: ask hasRoom first`)
  }
}
