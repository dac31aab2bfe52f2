import { hasParts } from '../core/limit.ts'
import type { CheckOptions, HistoryEvent, StartEvent } from './history.ts'
import type { KeyRecord } from './key-record.ts'
import type { Ledger } from './ledger.ts'
import { QuotaBook } from './quota-book.ts'
import type { Charge, View } from './quota-count.ts'
import { whyUnsettleable } from './settling.ts'

/** A quota may be counted in sixtieths of its window, each of which counts until its last moment has left the window. */
const PART = 1 / 60

interface Parts {
  readonly quotas: QuotaBook
  /** The last time at which every place may have been taken. */
  fullUntil: number
}

/**
 * Says whether a quota, or a bound on what runs at once, may have kept a start back. It counts all that may have counted for the
 * store: a start for longer than its window, more than was settled until that is known, and places whose lease may not have ended.
 */
export class HeldBack {
  readonly #ledger: Ledger
  readonly #settle: number
  readonly #lag: number
  readonly #view: View
  /** Of the keys whose limit has, or had, more than a pace. */
  readonly #keys = new Map<string, Parts>()
  readonly #charges = new Map<string, Charge>()

  constructor(ledger: Ledger, { settle = 0, lag = 0 }: CheckOptions) {
    this.#ledger = ledger
    this.#settle = settle
    this.#lag = lag
    this.#view = { late: 'smaller', lag, share: PART, extra: lag + 1 }
  }

  /** Whether the start may have had to wait at `slot`. Ask before the start is seen. */
  mayHave(start: StartEvent, slot: number): boolean {
    const parts = this.#keys.get(start.key)
    if (parts === undefined) return false
    const key = this.#ledger.key(start.key)
    if (parts.fullUntil > slot - this.#lag || isFull(key, start.at)) return true
    const { cost, costs = this.#ledger.job(start.id)?.costs } = start
    const from = Math.max(slot, key.counted.last.at)
    return key
      .limitsAt(start.at)
      .some((limit) => parts.quotas.excess(limit, { cost, costs }, from, from) !== undefined)
  }

  see(event: HistoryEvent): void {
    switch (event.type) {
      case 'limit':
        this.#replaceLimit(event)
        break
      case 'start':
        this.#start(event)
        break
      case 'settle':
      case 'release':
      case 'return':
      case 'end':
      case 'fault':
        this.#changeJob(event)
        break
    }
  }

  #replaceLimit({ key: name, limit, at }: HistoryEvent & { type: 'limit' }): void {
    let parts = this.#keys.get(name)
    if (parts === undefined) {
      if (!hasParts(limit)) return
      parts = { quotas: new QuotaBook(this.#view), fullUntil: Number.NEGATIVE_INFINITY }
      this.#keys.set(name, parts)
    }
    parts.quotas.replaceLimit(limit, this.#ledger.key(name).limitsAt(at), at, at + this.#settle)
  }

  #start(start: StartEvent): void {
    const parts = this.#keys.get(start.key)
    if (parts === undefined) return
    const { id, at, cost, costs = this.#ledger.job(id)?.costs } = start
    const charge = { at, readAt: at, parts: [] }
    this.#charges.set(id, charge)
    parts.quotas.start({ cost, costs }, charge, this.#ledger.key(start.key).limitsAt(at))
  }

  #changeJob(event: HistoryEvent & { id: string }): void {
    const job = this.#ledger.job(event.id)
    const parts = job && this.#keys.get(job.key)
    if (job === undefined || parts === undefined) return
    if (event.type !== 'settle') {
      if (isFull(this.#ledger.key(job.key), event.at)) parts.fullUntil = event.at
      return
    }
    const charge = this.#charges.get(event.id)
    if (charge !== undefined && whyUnsettleable(event, job) === undefined) {
      parts.quotas.settle(charge, event.amounts, event.at)
    }
  }
}

function isFull(key: KeyRecord, at: number): boolean {
  const fewest = Math.min(...key.limitsAt(at).map((limit) => limit.concurrency))
  return key.places.mostTaken + key.hit >= fewest
}
