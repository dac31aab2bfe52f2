import { quote } from '../core/describe.ts'
import { isTotal } from '../core/key.ts'
import { Gcra, ROUNDING } from './gcra.ts'
import type { CheckOptions, HistoryEvent, PromiseEvent, StartEvent } from './history.ts'
import { inLine, type JobRecord } from './job-record.ts'
import { instant, type LawCheck, type OpenCheck, type Report, span } from './law.ts'
import type { Ledger } from './ledger.ts'
import { isWithin } from './totals.ts'

/** The keys below one outermost total, or a key without one, of which jobs were promised something. */
interface Family {
  readonly name: string
  /** When the first of these promises was made. */
  readonly since: number
  /** Its starts since then. */
  readonly starts: Gcra
  /** How long it stood still before them, up to the lag each time. */
  late: number
  /** By job. */
  readonly promises: Map<string, Pending[]>
}

interface Pending {
  readonly promise: PromiseEvent
  /** Of the lateness of the family, what was before it. */
  readonly lateBefore: number
}

type Job = Pick<JobRecord, 'id' | 'key' | 'cost'>

/**
 * L13: a job starts by the time that it was promised, as long as no key without jobs gets some below its totals and handlers are free.
 *
 * A promise is judged up to the first event of these, which excuses what comes after it. A job that is late by then has no excuse.
 *
 * - A job comes, or comes back, that costs more than each that waits at its key; where none waits, any. Who joins makes the shares
 *   smaller, and the bound counts with the largest job of the family.
 * - A job of its own key comes back: retries depart before it.
 * - Below its outermost total another limit applies, or something is frozen, thawed, paused or resumed; or such a limit is a total further
 *   out. A freeze of before excuses from its end on, because what it held joins then.
 * - A fault hits a job of the family, or a process crashes.
 * - No more handlers are free than twice the square root of all: these may be kept for other keys.
 *
 * With a `lag` its start may be late by that. So may each start of the family since the promise, which moves all behind it: how long the
 * total, or a key without one, stood still before each of them is granted, up to the lag.
 */
export const longestWait: OpenCheck = (ledger, options, report) =>
  new LongestWaitCheck(ledger, options, report)

class LongestWaitCheck implements LawCheck {
  readonly #ledger: Ledger
  readonly #mostRunning: number
  readonly #lag: number
  readonly #report: Report
  readonly #totals = new Set<string>()
  readonly #families = new Map<string, Family>()
  /** What the jobs that wait cost, by key. */
  readonly #lines = new Map<string, Map<string, number>>()
  readonly #frozenUntil = new Map<string, number>()
  #now = Number.NEGATIVE_INFINITY

  constructor(ledger: Ledger, options: CheckOptions, report: Report) {
    const { concurrency: handlers = Number.POSITIVE_INFINITY, lag = 0 } = options
    this.#ledger = ledger
    this.#mostRunning = Number.isFinite(handlers) ? handlers - 2 * Math.sqrt(handlers) : handlers
    this.#lag = lag
    this.#report = report
  }

  see(event: HistoryEvent): void {
    this.#now = event.at
    switch (event.type) {
      case 'limit':
        this.#replaceLimit(event.key)
        break
      case 'unset':
        this.#excuse(event.key)
        this.#totals.delete(event.key)
        break
      case 'answer':
        if (event.accepted) this.#join(event)
        break
      case 'promise':
        this.#promise(event)
        break
      case 'start':
        this.#start(event)
        break
      case 'return':
        this.#return(event.id)
        break
      case 'end':
      case 'fault':
        this.#leave(event)
        break
      case 'crash':
        this.finish()
        break
      case 'freeze':
        this.#frozenUntil.set(event.key, Math.max(event.until, this.#frozenUntil.get(event.key) ?? 0))
        this.#excuse(event.key)
        break
      case 'unfreeze':
        this.#frozenUntil.delete(event.key)
        this.#excuse(event.key)
        break
      case 'pause':
      case 'resume':
        this.#excuse(event.key)
        break
    }
  }

  finish(): void {
    for (const family of this.#families.values()) this.#close(family)
  }

  #replaceLimit(name: string): void {
    const isFirst = !isTotal(name) && this.#ledger.key(name).limitsAt(this.#now).length === 0
    if (!isFirst) this.#excuse(name)
    if (isTotal(name)) this.#totals.add(name)
  }

  #join({ id, key, cost }: Job): void {
    const line = this.#lines.get(key) ?? new Map<string, number>()
    this.#lines.set(key, line)
    if (this.#families.size > 0 && isAboveAll(cost, line.values())) this.#excuse(key)
    line.set(id, cost)
  }

  #return(id: string): void {
    const job = this.#ledger.job(id)
    if (job === undefined) return
    for (const family of this.#families.values()) {
      for (const [other, [first]] of family.promises) {
        if (first!.promise.key === job.key) this.#settle(family, other)
      }
    }
    this.#join(job)
  }

  #leave({ id, type }: HistoryEvent & { readonly type: 'end' | 'fault' }): void {
    const job = this.#ledger.job(id)
    if (job === undefined) return
    this.#lines.get(job.key)?.delete(id)
    if (type === 'fault') this.#excuse(job.key)
    for (const family of this.#families.values()) this.#settle(family, id)
  }

  #start(start: StartEvent): void {
    const { id, key } = start
    this.#lines.get(key)?.delete(id)
    for (const family of this.#families.values()) {
      if (!isOf(key, family.name)) continue
      this.#settle(family, id)
      const { name, since, starts } = family
      const limits = this.#ledger.key(name).limitsAt(this.#now)
      const dues = limits.map((limit) => Math.max(since, starts.due(limit)))
      family.late += Math.min(this.#lag, Math.max(0, this.#now - Math.min(this.#now, ...dues)))
      starts.take(start, limits)
    }
    if (this.#areScarce(1)) this.finish()
  }

  #promise(promise: PromiseEvent): void {
    const { id, key, startsBy } = promise
    const job = this.#ledger.job(id)
    if (job === undefined || !inLine(job) || this.#areScarce(0)) return
    const name = this.#outermost(key)
    for (const [frozen, until] of this.#frozenUntil) {
      if (isOf(frozen, name) && this.#now < until && until <= startsBy) return
    }
    const family = this.#families.get(name) ?? {
      name,
      since: this.#now,
      starts: new Gcra(),
      late: 0,
      promises: new Map(),
    }
    this.#families.set(name, family)
    const kept = family.promises.get(id) ?? []
    family.promises.set(id, [...kept, { promise, lateBefore: family.late }])
  }

  /** Whether so few handlers are free, when so many more run, that they may be kept for other keys. */
  #areScarce(more: number): boolean {
    const { running, interrupted } = this.#ledger.counts
    return running + interrupted + more >= this.#mostRunning
  }

  #outermost(key: string): string {
    let outermost = key
    for (const total of this.#totals) {
      if (isWithin(key, total) && (outermost === key || total.length < outermost.length)) outermost = total
    }
    return outermost
  }

  /** What happens from now on at the key, or below the total, excuses. */
  #excuse(name: string): void {
    for (const family of this.#families.values()) {
      if (isOf(name, family.name) || isWithin(family.name, name)) this.#close(family)
    }
  }

  #close(family: Family): void {
    for (const id of [...family.promises.keys()]) this.#settle(family, id)
    this.#families.delete(family.name)
  }

  /** The job starts or ends now, or what was promised to it counts no longer. */
  #settle({ name, late, promises }: Family, id: string): void {
    const kept = promises.get(id) ?? []
    promises.delete(id)
    for (const { promise, lateBefore } of kept) {
      const allowed = promise.startsBy + this.#lag + late - lateBefore + ROUNDING
      if (this.#now <= allowed) continue
      this.#report({
        law: 'L13',
        at: this.#now,
        key: promise.key,
        id,
        message:
          `key ${quote(promise.key)}: job ${quote(id)} was promised at ${instant(promise.at)} that it starts by ` +
          `${instant(promise.startsBy)}, and waits ${span(this.#now - promise.startsBy)} longer in ${quote(name)}, with no excuse`,
      })
      return
    }
  }
}

function isOf(name: string, family: string): boolean {
  return name === family || isWithin(name, family)
}

function isAboveAll(cost: number, others: Iterable<number>): boolean {
  for (const other of others) if (other >= cost) return false
  return true
}
