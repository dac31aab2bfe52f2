import type { Clock } from '../../core/clock.ts'
import { MOST_PER_CALL } from '../scripts/prelude.ts'
import { type Delivery, deliveryName } from '../transport/transport.ts'
import type { Verbs } from '../verbs/verbs.ts'

const SLACK = Number.POSITIVE_INFINITY

export interface LeasesPorts {
  readonly backend: Pick<Verbs, 'renew'>
  readonly clock: Clock
  /** Microseconds. */
  readonly lease: number
  /** For how long after its end a lease is kept while the store cannot be reached; microseconds. Default: as long as that is. */
  readonly patience?: number
  /** Called once for each lost lease that was not released before. */
  readonly onLost: (job: Delivery) => void
}

interface Lease {
  readonly job: Delivery
  /** Certainly held until then, by the local clock: counts from when the call was sent. */
  until: number
  /** Over from then on, as far as is known: counts from when the answer came. */
  over: number
  isLost: boolean
}

/**
 * The leases of the jobs that this worker holds; one timer renews all of them after each third of their length. A lease is
 * lost only when the store says so: while the store cannot be reached no other worker gets the job either, and when it is back
 * it extends all leases by the time that it was away. Between the end of a lease and its renewal nothing may start.
 */
export class Leases {
  readonly #ports: LeasesPorts
  readonly #leases = new Map<string, Lease>()
  #disarm: (() => void) | undefined
  #renewAt = 0
  #patience: number

  constructor(ports: LeasesPorts) {
    this.#ports = ports
    this.#patience = ports.patience ?? Number.POSITIVE_INFINITY
  }

  get size(): number {
    return this.#leases.size
  }

  /**
   * Assumes the lease that the job was handed over with; the first renewal asks the store.
   *
   * @param since when it began at the earliest; local time, now when absent
   */
  hold(job: Delivery, since?: number): void {
    const { clock, lease } = this.#ports
    const now = clock.now()
    const isFirst = this.#leases.size === 0
    this.#leases.set(deliveryName(job), {
      job,
      until: (since ?? now) + lease,
      over: now + lease,
      isLost: false,
    })
    if (!isFirst) return
    this.#renewAt = now + lease / 3
    this.#arm()
  }

  /** Notes that the store renewed the lease at some time between the two. */
  extend(job: Delivery, sentAt: number, receivedAt: number): void {
    const held = this.#leases.get(deliveryName(job))
    if (held === undefined || held.isLost) return
    held.until = Math.max(held.until, sentAt + this.#ports.lease)
    held.over = Math.max(held.over, receivedAt + this.#ports.lease)
  }

  release(job: Delivery): void {
    this.#leases.delete(deliveryName(job))
    if (this.#leases.size === 0) this.#disarm?.()
  }

  isHeld(job: Delivery): boolean {
    return this.#ports.clock.now() < this.heldUntil(job)
  }

  /** The end of the lease by the local clock; -Infinity: it is lost, or was never held. */
  heldUntil(job: Delivery): number {
    const held = this.#leases.get(deliveryName(job))
    return held === undefined || held.isLost ? Number.NEGATIVE_INFINITY : held.until
  }

  /** Whether the store ignores from now on what this worker reports of the job. */
  isSurelyOver(job: Delivery): boolean {
    return this.isGivenUp(job) || this.#leases.get(deliveryName(job))!.isLost
  }

  /** Whether this worker does not wait any longer for what the store has to say of the job. */
  isGivenUp(job: Delivery): boolean {
    const held = this.#leases.get(deliveryName(job))
    return held === undefined || held.over + this.#patience <= this.#ports.clock.now()
  }

  /** Gives up each lease at its end from now on, also while the store is away: a worker that closes does not wait for it. */
  endPatience(): void {
    this.#patience = 0
    if (this.#leases.size > 0) this.#arm()
  }

  /** Notes that the job belongs to another worker, as the store said. */
  lose(job: Delivery): void {
    const held = this.#leases.get(deliveryName(job))
    if (held !== undefined) this.#lose(held)
  }

  #lose(held: Lease): void {
    if (held.isLost) return
    held.isLost = true
    this.#ports.onLost(held.job)
  }

  #arm(): void {
    const { clock } = this.#ports
    let at = this.#renewAt
    for (const { over, isLost } of this.#leases.values()) {
      if (!isLost) at = Math.min(at, over + this.#patience)
    }
    this.#disarm?.()
    this.#disarm = clock.wake(at, this.#onTimer, SLACK)
  }

  readonly #onTimer = () => {
    const now = this.#ports.clock.now()
    for (const held of [...this.#leases.values()]) if (held.over + this.#patience <= now) this.#lose(held)
    if (this.#renewAt <= now) {
      this.#renewAt = now + this.#ports.lease / 3
      this.#renewAll()
    }
    if (this.#leases.size > 0) this.#arm()
  }

  #renewAll(): void {
    const byShard = new Map<number, Delivery[]>()
    for (const { job, isLost } of this.#leases.values()) {
      if (isLost) continue
      const jobs = byShard.get(job.shard)
      if (jobs === undefined) byShard.set(job.shard, [job])
      else jobs.push(job)
    }
    for (const [shard, jobs] of byShard) {
      for (let from = 0; from < jobs.length; from += MOST_PER_CALL) {
        void this.#renew(shard, jobs.slice(from, from + MOST_PER_CALL))
      }
    }
  }

  async #renew(shard: number, jobs: readonly Delivery[]): Promise<void> {
    const { backend, clock, lease } = this.#ports
    const sentAt = clock.now()
    try {
      const named = jobs.map(({ id, epoch }) => ({ id, epoch }))
      const answers = await backend.renew(shard, named, lease)
      const receivedAt = clock.now()
      for (const [index, job] of jobs.entries()) {
        if (answers[index] === false) this.lose(job)
        else this.extend(job, sentAt, receivedAt)
      }
    } catch {
      // A lease outlasts a few failed calls; the calls of the gate report the outage.
      this.#renewAt = Math.min(this.#renewAt, clock.now() + lease / 10)
      if (this.#leases.size > 0) this.#arm()
    }
  }
}
