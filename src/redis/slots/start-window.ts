import type { Clock } from '../../core/clock.ts'
import type { Delivery } from '../transport/transport.ts'
import type { GateAnswer } from '../verbs/gate.ts'
import type { Leases } from './leases.ts'
import type { RedisClock } from './redis-clock.ts'

export type Grant = Extract<GateAnswer, { kind: 'granted' }> & {
  /** Its data, where they are too large to come with it. */
  readonly read?: { readonly value: unknown } | undefined
  /** It follows a start of this worker: its slot, and when it may start, by the local clock that timed the other. */
  readonly follows?: { readonly localSlot: number; readonly opensAt: number }
}

/** When a handler was called, as far as this process can tell. */
export interface KnownStart {
  /** By the local clock. */
  readonly localAt: number
  /** By the store's clock. */
  readonly at: number
}

const MOST_ALLOWED_FOR = 500

/** What it asks of the store's clock. */
type ClockOfStore = Pick<RedisClock, 'isSound' | 'measurement' | 'toLocal' | 'error'>

export interface StartWindowPorts {
  readonly clock: Clock
  readonly leases: Pick<Leases, 'heldUntil'>
}

/** When one job may start: from its slot on, not too late for it, and only while its lease lasts. */
export class StartWindow {
  readonly #clock: Clock
  readonly #leases: Pick<Leases, 'heldUntil'>
  readonly #store: ClockOfStore
  readonly #job: Delivery
  readonly #grant: Grant
  readonly #measurement: number
  #lookedAt = Number.NaN
  #startsAt = Number.NaN
  #start: KnownStart | undefined

  /** @param measurement of the store's clock, when the slot was asked for */
  constructor(
    { clock, leases }: StartWindowPorts,
    store: ClockOfStore,
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
    const { startAt, frozenUntil } = this.#grant
    const { follows } = this.#grant
    const opensAt = follows === undefined ? this.#store.toLocal(startAt) + this.#margin : follows.opensAt
    // The end of a freeze has no tolerance that would allow for any error.
    if (frozenUntil === undefined) return opensAt
    return Math.max(opensAt, this.#store.toLocal(frozenUntil) + this.#store.error.ahead)
  }

  /** What is waited for after a slot: this clock may be ahead, and the slot not have come. */
  get #margin(): number {
    return this.#beyondAllowance(this.#store.error.ahead)
  }

  /** Of an error, what the store does not allow for. Two workers may err in opposite directions: each may use half of the allowance. */
  #beyondAllowance(error: number): number {
    return Math.max(0, error - allowedFor(this.#grant) / 2)
  }

  /**
   * For how long after `opensAt` it may start. What was waited for after the slot is taken off, and by how much this clock may be
   * behind, since the start may be so much later: the gate was told of both.
   */
  get #usable(): number {
    const { startAt, latest } = this.#grant
    return latest - startAt - this.#margin - this.#store.error.behind
  }

  /** The local time of the last look. */
  get lookedAt(): number {
    return this.#lookedAt
  }

  /**
   * Takes the last look before the handler: reads the clock once, as the last thing that it does. Returns the time by the
   * store's clock; undefined: the handler must not be called.
   */
  look(): number | undefined {
    if (!this.isValid) return undefined
    const slot = this.#store.toLocal(this.#grant.startAt)
    const from = this.opensAt
    const until = from + this.#usable
    const leasedUntil = this.#leases.heldUntil(this.#job)
    const now = this.#clock.now()
    if (now < from || now > until || now >= leasedUntil) return undefined
    this.#lookedAt = now
    this.#startsAt = this.#grant.startAt + (now - slot)
    return this.#startsAt
  }

  /**
   * The time by the store's clock from which the next start of the bucket is spaced: no earlier than the start, if this clock is
   * behind. Without a tolerance no guess about the call is good enough: all that it took counts.
   *
   * @param took from the last look to the return of the call
   * @param delay the part of that which may have passed before the handler's first statement
   */
  startedBy(took: number, delay: number): number {
    const late = this.#grant.tolerance > 0 ? delay : took
    this.#start = { localAt: this.#lookedAt + late, at: this.#startsAt + late }
    return this.#start.at + this.#beyondAllowance(this.#store.error.behind)
  }

  /** The same without the error of the clock, from which the next start of this worker counts; undefined: it is not known. */
  get start(): KnownStart | undefined {
    return this.#start
  }

  /** Whether the lease was over at the local time `at`. */
  isLeaseOver(at: number): boolean {
    return at >= this.#leases.heldUntil(this.#job)
  }

  /** By how much a start at the local time `at` is too late for the slot; 0 or less: it is in time. */
  overdue(at: number): number {
    return at - this.opensAt - this.#usable
  }
}

/** By how much the clocks of two workers may differ: the store takes it off the tolerance (`start` in scripts/lib/grant.lua). */
export function allowedFor({ tolerance }: Pick<Grant, 'tolerance'>): number {
  return Math.min(MOST_ALLOWED_FOR, tolerance / 4)
}
