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
import { changeCounted } from '../../src/core/remembered.ts'
import * as usages from '../../src/core/usage.ts'
import { admit } from '../../src/core/verdict.ts'

/** What the rounding of epoch microseconds may add. */
const ROUNDING_MS = 0.0005

interface Waiting {
  readonly id: string
  readonly cost: number
  readonly costs: usages.Costs | undefined
  readonly expiresAt: number
}

/**
 * The core and nothing else: one bucket and a list, without retries, as the reference for every backend. What starts ends at once,
 * so every place is free.
 */
export class CoreDriver {
  #bucket
  #line: Waiting[] = []
  /** The slot of the head. */
  #due = Number.POSITIVE_INFINITY
  /** Since when the head may depart. */
  #from = Number.NEGATIVE_INFINITY

  constructor(limit: string) {
    this.#bucket = createBucket(parseLimit(limit))
  }

  get due(): number {
    return this.#due
  }

  /** Returns what its producer gets. */
  admit(id: string, cost: number, deadline: number, now: number, costs?: usages.Costs) {
    const verdict = admit(this.#bucket, { cost, costs, deadline }, now, this.#line)
    const { isEstimate = false } = verdict
    if (!verdict.accepted) {
      const { accepted, reason, retryAt } = verdict
      const retryAfterMs = Math.max(1, Math.ceil((retryAt - now) / MILLISECOND - ROUNDING_MS))
      return { accepted, reason, retryAfterMs, isEstimate, ...this.#fill }
    }
    this.#line.push({ id, cost, costs, expiresAt: deadline + this.#bucket.limit.tolerance + 1 })
    if (this.#line.length === 1) this.#arm(now)
    const departsAt = verdict.departsAt / MILLISECOND
    return { accepted: true, departsAt, position: this.#line.length, isEstimate, ...this.#fill }
  }

  /** Starts the head if it is due; returns its id and the slot. `actual`: what it really counts, which it says at once. */
  startNext(now: number, actual?: usages.Costs): readonly [id: string, slot: number] | undefined {
    if (this.#due > now) return undefined
    const job = this.#line.shift()!
    const slot = reserveDue(this.#bucket, job.cost, this.#due, now)
    depart(this.#bucket, job.cost, now)
    changeCounted(this.#bucket, this.#bucket.limit, now)
    const { limit, counted = limit, usage } = this.#bucket
    if (usage !== undefined) {
      const charges = usages.chargesOf(counted, job)
      usages.tidy(counted, usage, now)
      usages.charge(counted, usage, charges, now)
      for (const [unit, units] of Object.entries(actual ?? {})) {
        const index = counted.quotas.findIndex((quota) => quota.unit === unit)
        usages.settle(counted, usage, unit, charges[index]!, units, now)
      }
    }
    this.#arm()
    return [job.id, slot]
  }

  get hasQuotas(): boolean {
    return this.#bucket.usage !== undefined
  }

  isIdle(now: number): boolean {
    return isIdle(this.#bucket, now)
  }

  /** Whether a quota counts the unit. */
  counts(unit: string): boolean {
    return this.#bucket.limit.quotas.some((quota) => quota.unit === unit)
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
    // Another head may count less in quotas.
    this.#arm(this.#line.length === 0 ? undefined : this.#from)
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

  setLimit(text: string, now: number): void {
    changeLimit(this.#bucket, parseLimit(text), now)
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
    this.#from = from
    this.#due = this.#dueFrom(from)
  }

  #dueFrom(from: number): number {
    const [head] = this.#line
    const { limit, usage, paused } = this.#bucket
    if (head === undefined || paused) return Number.POSITIVE_INFINITY
    const slot = nextSlot(this.#bucket, from)
    return usage === undefined ? slot : usages.roomAt(limit, usage, usages.chargesOf(limit, head), slot)
  }
}
