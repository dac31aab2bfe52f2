import type { Limit } from '../core/limit.ts'
import { Gcra, mostLenient } from './gcra.ts'
import type { FreezeEvent } from './history.ts'
import { News } from './news.ts'
import { Places } from './places.ts'
import { QuotaBook } from './quota-book.ts'
import { Warming } from './warming.ts'

/** What the history says about a key so far. */
export class KeyRecord {
  /** Cost units that wait: those that never started, and those that returned. */
  waiting = 0
  /** Of these, the units that returned. */
  returned = 0
  /** Cost units hit by a fault: they may wait again or not. */
  interrupted = 0
  /** Jobs in line hit by a fault or a crash before their first start. */
  hit = 0
  frozenUntil = Number.NEGATIVE_INFINITY
  pausedAt: number | undefined
  /** Starts by the clocks that handlers read, if they did; and as the line counts them. */
  readonly spacing = new Gcra()
  readonly counted = new Gcra()
  readonly warming: Warming
  readonly news: News
  readonly quotas: QuotaBook
  readonly places = new Places()
  readonly #lag: number
  #limits: { readonly limit: Limit; readonly until: number }[] = []
  /** Freezes that not every process may know of. */
  #newFreezes: FreezeEvent[] = []
  #knownFreeze = Number.NEGATIVE_INFINITY
  /** Starts that the store may not know of, and how late they were. */
  #lateStarts: { readonly at: number; readonly by: number }[] = []

  constructor(lag: number, isMidway: boolean) {
    this.#lag = lag
    this.warming = new Warming(isMidway)
    this.news = new News(lag)
    this.quotas = new QuotaBook({ late: 'greater', lag, share: 0, extra: 0 })
  }

  /** The limits that may apply to a verdict or a start at `at`, the newest first; none before the first was set. */
  limitsAt(at: number): Limit[] {
    if (this.#limits.length > 1) this.#limits = this.#limits.filter(({ until }) => at < until)
    return this.#limits.map(({ limit }) => limit)
  }

  replaceLimit(limit: Limit, at: number, settle: number): void {
    this.quotas.replaceLimit(limit, this.limitsAt(at), at, at + settle)
    const older = this.#limits.map((known) => ({ ...known, until: Math.min(known.until, at + settle) }))
    this.#limits = [{ limit, until: Number.POSITIVE_INFINITY }, ...older]
    if (older[0] !== undefined) this.warming.replaceLimit(older[0].limit, at)
  }

  /** An idle bucket is deleted once its next departure has passed, so no later limit counts from its last start. */
  forgetIfIdle(at: number): void {
    if (this.waiting > 0 || this.frozenUntil > at || this.pausedAt !== undefined) return
    const limit = mostLenient(this.counted, this.limitsAt(at))
    if (limit === undefined || this.counted.due(limit) - limit.tolerance > at) return
    this.spacing.forget(limit)
    this.counted.forget(limit)
  }

  /** A shorter freeze never shortens a longer one. */
  freeze(event: FreezeEvent): void {
    this.frozenUntil = Math.max(this.frozenUntil, event.until)
    this.#newFreezes.push(event)
    this.warming.freeze(event.at + this.#lag)
  }

  /** The warmth stays 0, as after the freeze. */
  unfreeze(): void {
    this.frozenUntil = Number.NEGATIVE_INFINITY
    this.#knownFreeze = Number.NEGATIVE_INFINITY
    this.#newFreezes = []
  }

  /** The end of the freezes that every process knows of at `at`. */
  knownFreezeAt(at: number): number {
    const isNew = (freeze: FreezeEvent) => freeze.at + this.#lag > at
    for (const freeze of this.#newFreezes) {
      if (!isNew(freeze)) this.#knownFreeze = Math.max(this.#knownFreeze, freeze.until)
    }
    this.#newFreezes = this.#newFreezes.filter(isNew)
    return this.#knownFreeze
  }

  /** Records that a start at `at` came `by` microseconds later than possible. */
  noteLateStart(at: number, by: number): void {
    this.#forgetLateStarts(at)
    if (this.#lag > 0) this.#lateStarts.push({ at, by })
  }

  /** The total lateness of the starts that the store may not know of at `at`. */
  unknownLateness(at: number): number {
    this.#forgetLateStarts(at)
    return this.#lateStarts.reduce((sum, { by }) => sum + by, 0)
  }

  #forgetLateStarts(at: number): void {
    while (this.#lateStarts.length > 0 && this.#lateStarts[0]!.at + this.#lag <= at) this.#lateStarts.shift()
  }

  /** Since when the key is paused, if every process knows of it at `at`. */
  knownPauseAt(at: number): number | undefined {
    return this.pausedAt !== undefined && this.pausedAt + this.#lag <= at ? this.pausedAt : undefined
  }
}
