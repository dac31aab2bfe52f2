import type { Clock } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { Semaphore } from '../../core/semaphore.ts'
import { type HandedOver, nameOf } from '../protocol/handed-over.ts'
import { BucketQueue } from './bucket-queue.ts'
import { handlerPermits } from './handler-permit.ts'
import type { Leases } from './leases.ts'
import { Passage, type PassagePorts } from './passage.ts'
import { Ticket } from './ticket.ts'

/** Who asks again whether it is his turn is not in a hurry; no processor time is spent on it. */
const SLACK = 2 * MILLISECOND

export interface RedisGatePorts extends PassagePorts {
  readonly clock: Clock
  readonly leases: Leases
  /** Names the worker. */
  readonly worker: string
  /** Handlers that may run at once; the owner calls `release` when one has ended. */
  readonly concurrency: number
}

/**
 * The gate of a worker whose lines are shared. Jobs of one bucket stand in the order in which they came, and only one
 * of them at a time has a slot: one that another was reserved behind cannot be moved any more. Those that wait
 * here use up no handler. How one of them passes: `passage.ts`.
 */
export class RedisGate {
  readonly #ports: RedisGatePorts
  readonly #permits: Semaphore<string>
  readonly #passage: Passage
  readonly #queues = new Map<string, BucketQueue>()
  /** By name, those that have not left the gate. */
  readonly #tickets = new Map<string, Ticket>()
  /** By name, what the transport waits for: a job that is delivered twice is held once. */
  readonly #held = new Map<string, Promise<void>>()
  #isClosed = false

  constructor(ports: RedisGatePorts) {
    this.#ports = ports
    this.#permits = handlerPermits(ports.concurrency, ports.clock)
    this.#passage = new Passage(ports, this.#permits)
  }

  /** Jobs that have not left the gate. */
  get waiting(): number {
    return this.#tickets.size
  }

  /** Buckets that somebody stands for. */
  get buckets(): number {
    return this.#queues.size
  }

  /** Slots that came when the process was not ready. */
  get missedSlots(): number {
    return this.#passage.missedSlots
  }

  /** Resolves when the transport may forget the job: it has ended, or it is not this worker's any more. */
  take(job: HandedOver): Promise<void> {
    const name = nameOf(job)
    const held = this.#held.get(name)
    if (held !== undefined) return held
    const done = this.#hold(job, name)
    this.#held.set(name, done)
    return done
  }

  /** Its lease was lost: if it has not started, it never will. */
  drop(job: HandedOver): void {
    const ticket = this.#tickets.get(nameOf(job))
    if (ticket !== undefined) this.#queues.get(job.key)?.drop(ticket)
  }

  /** A handler of the key has ended. */
  release(key: string): void {
    this.#permits.release(key)
  }

  /** Takes no more, and gives back those that have not started; whom it cannot give back, the end of the lease does. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const queue of this.#queues.values()) queue.giveBack()
    await Promise.all([...this.#tickets.keys()].map((name) => this.#held.get(name)))
  }

  async #hold(job: HandedOver, name: string): Promise<void> {
    const { leases } = this.#ports
    const ticket = new Ticket(job)
    this.#tickets.set(name, ticket)
    leases.hold(job)
    if (this.#isClosed) ticket.decide('back')
    else this.#queue(ticket)
    await ticket.decided
    if (ticket.fate === 'back') await this.#giveBack(job)
    this.#tickets.delete(name)
    await ticket.run
    leases.release(job)
    this.#held.delete(name)
  }

  #queue(ticket: Ticket): void {
    const { key } = ticket.job
    const queue = this.#queues.get(key)
    if (queue !== undefined) {
      queue.add(ticket)
      return
    }
    const opened = new BucketQueue()
    opened.add(ticket)
    this.#queues.set(key, opened)
    void this.#serve(key, opened)
  }

  async #serve(key: string, queue: BucketQueue): Promise<void> {
    const { clock } = this.#ports
    for (queue.sweep(); queue.size > 0; queue.sweep()) {
      const ticket = queue.first(clock.now())
      if (ticket !== undefined) await this.#passage.pass(ticket, queue)
      else await queue.wait((onSignal) => clock.wake(queue.nextAsk, onSignal, SLACK))
    }
    this.#queues.delete(key)
  }

  async #giveBack({ shard, id, epoch }: HandedOver): Promise<void> {
    try {
      await this.#ports.calls.finish(shard, {
        id,
        epoch,
        outcome: { kind: 'back', worker: this.#ports.worker },
      })
    } catch {
      // Told of by the call; its lease ends, and the store takes it back.
    }
  }
}
