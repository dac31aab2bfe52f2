import { HandlerShares, type Rank, type Withheld } from '../core/handler-shares.ts'
import type { JobRecord } from './store/job-record.ts'

/** Takes jobs while it has room: a worker. */
export interface Receiver {
  readonly hasRoom: boolean
  /** How many jobs it takes at once. */
  readonly concurrency: number
  receive(job: JobRecord): void
}

/** Hands jobs to the workers of this process in rotation, and turns to the callers that wait for them. */
export class MemoryHandoff {
  readonly #turns: Pick<Receiver, 'receive'>
  readonly #receivers: Receiver[] = []
  /** All workers of this process are one pool. */
  readonly #shares = new HandlerShares(0)
  #next = 0

  constructor(turns: Pick<Receiver, 'receive'>) {
    this.#turns = turns
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

  /** Whether a worker could take a job now. */
  get hasRoom(): boolean {
    for (const receiver of this.#receivers) if (receiver.hasRoom) return true
    return false
  }

  /** The rank of the key among those that wait for a handler, or for what the free ones are withheld from it. */
  ask(key: string, now: number): Rank | Withheld {
    return this.#shares.ask(key, now)
  }

  /** Whether free handlers are kept for other keys. */
  withholdsFrom(key: string): boolean {
    return !this.#shares.allows(key)
  }

  /** Returns the handler of a job that has ended. */
  release(key: string): void {
    this.#shares.release(key)
  }

  /** Passes a job on. Ask `hasRoom` first, unless the job is a turn, which needs no handler. */
  deliver(job: JobRecord): void {
    if (job.isTurn) {
      this.#turns.receive(job)
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
