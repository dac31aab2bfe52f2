import type { Clock } from '../../core/clock.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import { HandlerShares } from '../../core/handler-shares.ts'
import type { Semaphore } from '../../core/semaphore.ts'
import { retryDelay } from '../connection/retry-delay.ts'
import { type Delivery, deliveryName } from '../transport/transport.ts'
import { BucketQueue } from './bucket-queue.ts'
import { GateEntry } from './gate-entry.ts'
import { HandlerPatience } from './handler-patience.ts'
import { handlerPermits } from './handler-permit.ts'
import type { Leases } from './leases.ts'
import { type Following, SlotRuns } from './slot-runs.ts'
import { StartSequence, type StartSequencePorts } from './start-sequence.ts'
import { WaitingRoom } from './waiting-room.ts'

/** A job that asks again whether it is next is in no hurry; no processor time is spent on precision. */
const SLACK = 2 * MILLISECOND
/** So many jobs that expired here are remembered: the transport may deliver one again, which it does within seconds. */
const MOST_EXPIRED = 1_000
/** A gate that closes while Redis is away tries for so long to give a job back; any other does while it has the lease of the job. */
const GIVES_BACK = SECOND
/** Where a handler has ended so lately, one ends soon. */
const SOON = 50 * MILLISECOND

export interface RedisGatePorts extends StartSequencePorts {
  readonly clock: Clock
  readonly leases: Leases
  /** Names the worker. */
  readonly worker: string
  /** For so long a job belongs to the worker if it does not renew; microseconds. */
  readonly lease: number
  /** Handlers that may run at once; the owner calls `release` when one has ended. */
  readonly concurrency: number
  /** Buckets that may wait for a handler. */
  readonly room: number
  /** A job came behind another of its bucket, and is held until `done` resolves. */
  readonly onFollowing: (job: Delivery, done: Promise<void>) => void
}

/**
 * The gate of one worker. Jobs of one bucket wait in the order in which they came, and only one of them at a time has a slot:
 * a slot behind which another was reserved cannot be moved any more. A job that waits here occupies no handler. The steps of
 * one job: `start-sequence.ts`; how slots and leases work: `README.md`.
 */
export class RedisGate {
  readonly #ports: RedisGatePorts
  readonly #permits: Semaphore<string>
  readonly #room: WaitingRoom
  readonly #patience: HandlerPatience
  /** Resolves when the worker has rested. */
  #rest: Promise<void> | undefined
  #endRest: () => void = () => undefined
  readonly #runs: SlotRuns
  readonly #sequence: StartSequence
  readonly #queues = new Map<string, BucketQueue>()
  /** By name, the jobs that have not left the gate. */
  readonly #entries = new Map<string, GateEntry>()
  /** By name, the end of each job: one that is delivered twice is held once. */
  readonly #held = new Map<string, Promise<void>>()
  /** By name, the jobs that expired here: the store would repeat its answer, and each is reported once. */
  readonly #expired = new Set<string>()
  /** When a handler ended; local time. */
  #endedAt = Number.NEGATIVE_INFINITY
  /** By the local clock; Infinity: it is open. */
  #closedAt = Number.POSITIVE_INFINITY

  constructor(ports: RedisGatePorts) {
    this.#ports = ports
    const shares = new HandlerShares(ports.concurrency)
    this.#permits = handlerPermits(shares, ports.clock)
    this.#room = new WaitingRoom(ports.room)
    this.#patience = new HandlerPatience(shares, () => this.#endRest())
    this.#runs = new SlotRuns({
      ...ports,
      free: (key) => this.#freeFor(key, shares),
      onJob: (job, following) => {
        const isNew = !this.#held.has(deliveryName(job))
        if (isNew) ports.onFollowing(job, this.#take(job, following))
        return isNew
      },
    })
    this.#sequence = new StartSequence(ports, this.#permits, this.#room, this.#patience, this.#runs)
  }

  /** Jobs that have not left the gate. */
  get waiting(): number {
    return this.#entries.size
  }

  /** Buckets of which jobs wait, or follow each other. */
  get buckets(): number {
    return Math.max(this.#queues.size, this.#runs.size)
  }

  /** Slots that passed because the process was not ready. */
  get missedSlots(): number {
    return this.#sequence.missedSlots
  }

  /**
   * Resolves when the job has ended, or is not this worker's any more. A second delivery of it waits for the same, and one of a job
   * that expired here is dropped.
   */
  take(job: Delivery): Promise<void> {
    return this.#take(job)
  }

  #take(job: Delivery, following?: Following): Promise<void> {
    const name = deliveryName(job)
    if (this.#expired.has(name)) return Promise.resolve()
    const held = this.#held.get(name)
    if (held !== undefined) return held
    const done = this.#hold(job, name, following)
    this.#held.set(name, done)
    return done
  }

  /** Resolves when the worker may take another delivery: one whose handlers are stuck leaves them to others for a time. */
  async rested(): Promise<void> {
    const { clock } = this.#ports
    while (!this.#isClosed && clock.now() < this.#patience.restUntil) {
      this.#rest ??= this.#sleep(this.#patience.restUntil)
      await this.#rest
    }
  }

  #sleep(until: number): Promise<void> {
    return new Promise((resolve) => {
      const disarm = this.#ports.clock.wake(until, () => this.#endRest(), Number.POSITIVE_INFINITY)
      this.#endRest = () => {
        disarm()
        this.#rest = undefined
        resolve()
      }
    })
  }

  /** If the job has not started, it does not start any more. */
  drop(job: Delivery): void {
    const entry = this.#entries.get(deliveryName(job))
    if (entry === undefined) return
    this.#runs.stop(job.key)
    this.#queues.get(job.key)?.drop(entry)
  }

  /** The jobs of the key that have not started are to ask for their slots. */
  stopRun(key: string): void {
    this.#runs.stop(key)
  }

  /** Frees the handler of a job of the key. */
  release(key: string): void {
    const now = this.#ports.clock.now()
    this.#endedAt = now
    this.#room.ended(key, now)
    this.#patience.moved(now)
    this.#permits.release(key)
  }

  /** Where handlers end so fast, one job more than there are handlers is not kept waiting. */
  #freeFor(key: string, shares: HandlerShares): number {
    const isSoon = this.#ports.clock.now() - this.#endedAt < SOON
    return shares.allows(key) || isSoon ? Math.max(shares.free, isSoon ? 2 : 0) : 0
  }

  /** Takes no more jobs, and gives back those that have not started; a job that cannot be given back returns with its lease. */
  async close(): Promise<void> {
    this.#closedAt = this.#ports.clock.now()
    this.#endRest()
    this.#runs.close()
    for (const queue of this.#queues.values()) queue.giveBack()
    await Promise.all([...this.#entries.keys()].map((name) => this.#held.get(name)))
  }

  get #isClosed(): boolean {
    return this.#closedAt !== Number.POSITIVE_INFINITY
  }

  async #hold(job: Delivery, name: string, following?: Following): Promise<void> {
    const { leases } = this.#ports
    const entry = new GateEntry(job, following)
    this.#entries.set(name, entry)
    leases.hold(job, following?.askedAt)
    if (this.#isClosed) entry.decide('back')
    else this.#queue(entry)
    await entry.decided
    if (entry.fate === 'expired') this.#rememberExpired(name)
    if (entry.fate === 'back') await this.#giveBack(entry)
    this.#entries.delete(name)
    if (entry.fate !== 'started') this.#runs.left(entry)
    await entry.run
    leases.release(job)
    this.#held.delete(name)
  }

  #rememberExpired(name: string): void {
    this.#expired.add(name)
    if (this.#expired.size <= MOST_EXPIRED) return
    const [oldest] = this.#expired
    this.#expired.delete(oldest!)
  }

  #queue(entry: GateEntry): void {
    const { key } = entry.job
    const queue = this.#queues.get(key)
    if (queue !== undefined) {
      queue.add(entry)
      return
    }
    const opened = new BucketQueue()
    opened.add(entry)
    this.#queues.set(key, opened)
    void this.#serve(key, opened)
  }

  async #serve(key: string, queue: BucketQueue): Promise<void> {
    const { clock } = this.#ports
    for (queue.sweep(); queue.size > 0; queue.sweep()) {
      const entry = queue.next(clock.now())
      if (entry !== undefined) await this.#sequence.run(entry, queue)
      else await queue.wait((onSignal) => clock.wake(queue.nextAsk, onSignal, SLACK))
    }
    this.#queues.delete(key)
  }

  /**
   * Tries again until Redis is back: all behind the job wait for it, and a slot that it was granted counts as a crash once the lease
   * ends.
   */
  async #giveBack({ job, isUrgent }: GateEntry): Promise<void> {
    const { calls, clock, leases, worker } = this.#ports
    const { shard, id, epoch, key } = job
    const since = clock.now()
    // Another worker is to have it at once.
    const delay = this.#isClosed || isUrgent ? 0 : this.#room.awayFor(key, since)
    for (let failures = 1; ; failures++) {
      try {
        await calls.finish(shard, { id, epoch, outcome: { kind: 'back', worker, delay } })
        return
      } catch {
        // The call has reported it.
        const at = clock.now() + retryDelay(failures)
        if (leases.isSurelyOver(job) || at > Math.max(since, this.#closedAt) + GIVES_BACK) return
        await new Promise<void>((resolve) => void clock.wake(at, resolve, SLACK))
      }
    }
  }
}
