import {
  changeLimit,
  createBucket,
  depart,
  freeze,
  isIdle,
  leave,
  nextSlot,
  reserveDue,
  unfreeze,
} from '../../src/core/bucket.ts'
import { MILLISECOND } from '../../src/core/duration.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { admit } from '../../src/core/verdict.ts'

/** What the rounding of epoch microseconds may add. */
const ROUNDING_MS = 0.0005

interface Waiting {
  readonly id: string
  readonly cost: number
  readonly expiresAt: number
}

/** The core and nothing else: one bucket and a list, without retries, as the reference for every backend. */
export class CoreDriver {
  #bucket
  #line: Waiting[] = []
  /** The slot of the head. */
  #due = Number.POSITIVE_INFINITY

  constructor(limit: string) {
    this.#bucket = createBucket(parseLimit(limit))
  }

  get due(): number {
    return this.#due
  }

  /** Returns what its producer gets. */
  admit(id: string, cost: number, deadline: number, now: number) {
    const verdict = admit(this.#bucket, { cost, deadline }, now, this.#line)
    if (!verdict.accepted) {
      const { accepted, reason, retryAt } = verdict
      const retryAfterMs = Math.max(1, Math.ceil((retryAt - now) / MILLISECOND - ROUNDING_MS))
      return { accepted, reason, retryAfterMs, ...this.#fill }
    }
    this.#line.push({ id, cost, expiresAt: deadline + this.#bucket.limit.tolerance + 1 })
    if (this.#line.length === 1) this.#arm(now)
    const departsAt = verdict.departsAt / MILLISECOND
    return { accepted: true, departsAt, position: this.#line.length, ...this.#fill }
  }

  /** Starts the head if it is due; returns its id and the slot. */
  startNext(now: number): readonly [id: string, slot: number] | undefined {
    if (this.#due > now) return undefined
    const { id, cost } = this.#line.shift()!
    const slot = reserveDue(this.#bucket, cost, this.#due, now)
    depart(this.#bucket, cost, now)
    this.#arm()
    return [id, slot]
  }

  expire(now: number): string[] {
    const expired = this.#line.filter(({ expiresAt }) => expiresAt <= now).map(({ id }) => id)
    for (const id of expired) this.cancel(id)
    return expired
  }

  cancel(id: string): boolean {
    const job = this.#line.find((waiting) => waiting.id === id)
    if (job === undefined) return false
    this.#line = this.#line.filter((waiting) => waiting !== job)
    leave(this.#bucket, job.cost)
    if (this.#line.length === 0) this.#arm()
    return true
  }

  freeze(until: number): number {
    freeze(this.#bucket, until)
    this.#arm()
    return this.#bucket.frozenUntil
  }

  unfreeze(now: number): boolean {
    if (this.#bucket.frozenUntil <= now) return false
    unfreeze(this.#bucket)
    this.#arm(now)
    return true
  }

  pause(): void {
    this.#bucket.paused = true
    this.#arm()
  }

  resume(now: number): void {
    this.#bucket.paused = false
    this.#arm(now)
  }

  setLimit(text: string): void {
    changeLimit(this.#bucket, parseLimit(text), 0)
    this.#arm()
  }

  forget(now: number): void {
    if (isIdle(this.#bucket, now)) this.#bucket = createBucket(this.#bucket.limit)
  }

  get #fill() {
    const { waiting, limit } = this.#bucket
    return { waiting, capacity: limit.capacity }
  }

  #arm(from = Number.NEGATIVE_INFINITY): void {
    const isDue = this.#line.length > 0 && !this.#bucket.paused
    this.#due = isDue ? nextSlot(this.#bucket, from) : Number.POSITIVE_INFINITY
  }
}
