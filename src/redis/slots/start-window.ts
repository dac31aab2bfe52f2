import type { Clock } from '../../core/clock.ts'
import type { Delivery } from '../transport/transport.ts'
import type { GateAnswer } from '../verbs/gate.ts'
import type { Leases } from './leases.ts'
import type { RedisClock } from './redis-clock.ts'

export type Grant = Extract<GateAnswer, { kind: 'granted' }> & {
  /** Its data, where they are too large to come with it. */
  readonly read?: { readonly value: unknown } | undefined
}

const MOST_ALLOWED_FOR = 500

export interface StartWindowPorts {
  readonly clock: Clock
  readonly leases: Pick<Leases, 'heldUntil'>
}

/** When one granted job may start: from its slot on, not too late, and only while its lease lasts. */
export class StartWindow {
  readonly #clock: Clock
  readonly #leases: Pick<Leases, 'heldUntil'>
  readonly #store: RedisClock
  readonly #job: Delivery
  readonly #grant: Grant
  readonly #measurement: number
  #lookedAt = Number.NaN
  #startsAt = Number.NaN

  /** @param measurement of the store's clock, when the slot was asked for */
  constructor(
    { clock, leases }: StartWindowPorts,
    store: RedisClock,
    job: Delivery,
    grant: Grant,
    measurement: number,
  ) {
    this.#clock = clock
    this.#leases = leases
    this.#store = store
    this.#job = job
    this.#grant = grant
    this.#measurement = measurement
  }

  /** The clock of the store is known, and was not measured anew since the slot was granted. */
  get isValid(): boolean {
    return this.#store.isSound && this.#store.measurement === this.#measurement
  }

  /** When the slot has certainly come, by the local clock as it compares with the store's now. */
  get opensAt(): number {
    return this.#store.toLocal(this.#grant.startAt) + this.#margin
  }

  /**
   * Each worker keeps away from a slot by the error of its clock that the store does not allow for, and adds it to the time
   * of a start that it tells. Two workers may err in opposite directions, so each may use half of what is allowed for.
   */
  get #margin(): number {
    return Math.max(0, this.#store.error - allowedFor(this.#grant) / 2)
  }

  /** The local time of the last look. */
  get lookedAt(): number {
    return this.#lookedAt
  }

  /**
   * The last look before the handler: reads the clock once, as the last thing that it does. Answers the time by the
   * store's clock; undefined when the handler must not be called.
   */
  look(): number | undefined {
    if (!this.isValid) return undefined
    const margin = this.#margin
    const from = this.opensAt
    const until = from + usableWindow(this.#grant, this.#store)
    const leasedUntil = this.#leases.heldUntil(this.#job)
    const now = this.#clock.now()
    if (now < from || now > until || now >= leasedUntil) return undefined
    this.#lookedAt = now
    this.#startsAt = this.#grant.startAt + (now - from) + margin
    return this.#startsAt
  }

  /**
   * The time by the store's clock from which the next of the bucket keeps away. Without a tolerance no guess about the
   * call is good enough.
   *
   * @param took from the last look until the call had returned
   * @param delay of that, what may have been before the handler's first statement
   */
  startedBy(took: number, delay: number): number {
    return this.#startsAt + (this.#grant.tolerance > 0 ? delay : took) + this.#margin
  }

  /** Whether the lease was over at the local time `at`. */
  isLeaseOver(at: number): boolean {
    return at >= this.#leases.heldUntil(this.#job)
  }

  /** By how much a start at the local time `at` is too late for the slot; 0 or less: it is not. */
  overdue(at: number): number {
    return at - this.opensAt - usableWindow(this.#grant, this.#store)
  }
}

/** By so much the clocks of two workers may differ: the store takes it off the tolerance (`start` in scripts/lib/grant.lua). */
function allowedFor({ tolerance }: Grant): number {
  return Math.min(MOST_ALLOWED_FOR, tolerance / 4)
}

/**
 * How late a start may be. The error of the clock is taken off, but never more than half of what is tolerated: under
 * a tolerance that is smaller than the error nothing would ever start.
 */
function usableWindow({ startAt, latest }: Grant, store: RedisClock): number {
  const tolerated = latest - startAt
  return tolerated - Math.min(store.error, tolerated / 2)
}
