import { MILLISECOND } from '../core/duration.ts'
import type { Accepted, Rejected } from '../core/job.ts'
import { LayeredBook } from '../core/layered-book.ts'
import type { RuleBook } from '../core/rule-book.ts'
import type { JobRecord } from '../memory/store/job-record.ts'
import { MemoryStore } from '../memory/store/memory-store.ts'
import { type Arrival, NANOSECOND } from './arrival.ts'
import { FamilyBook } from './family-book.ts'
import { Fifo } from './fifo.ts'
import type { Outcome } from './key-line.ts'
import { type OnOutcome, type SimulatedLines, type Spread, spreadFrom } from './simulation.ts'
import { type Summary, SummaryBuilder } from './summary.ts'

/** An arrival, and its outcome once it is known: when a job below a total departs depends on what others enqueue after it. */
interface Entry {
  readonly arrival: Arrival
  /** Its position when it was accepted. */
  position: number
  outcome: Outcome | undefined
}

const SETTINGS = {
  attempts: 1,
  backoff: { type: 'fixed', delayMs: 0, maxDelayMs: 0, jitter: 0 },
  timeoutMs: 1,
} as const
const COMPLETED = { kind: 'completed', result: undefined } as const
/** Jobs that have ended are not asked for. */
const NOTHING = { jobs: 0, time: 0, most: 0 } as const

/** Runs the line of one process in virtual time, with its totals: each verb at the moment at which it is due. */
export class FamilySimulation implements SimulatedLines {
  readonly #limits: RuleBook
  readonly #store: MemoryStore
  readonly #handlerTime: number
  readonly #onOutcome: OnOutcome | undefined
  readonly #summary = new SummaryBuilder()
  readonly families: FamilyBook
  /** In the order of arrival, from the first on whose outcome is not known. */
  readonly #entries = new Fifo<Entry>()
  readonly #waiting = new Map<string, Entry>()
  /** Handlers take one time, so that those that started first end first. */
  readonly #running = new Fifo<{ readonly job: JobRecord; readonly endsAt: number }>()
  #now = Number.NEGATIVE_INFINITY
  #spread: Spread | undefined

  /** @param handlerTime how long a handler holds its place, in microseconds */
  constructor(limits: RuleBook, handlerTime = 0, onOutcome?: OnOutcome) {
    this.#limits = limits
    this.#store = new MemoryStore(LayeredBook.of({ origin: 'code', rules: limits.list() }), NOTHING)
    this.#handlerTime = handlerTime
    this.#onOutcome = onOutcome
    this.families = new FamilyBook(limits)
  }

  /** Buckets currently in use. */
  get liveBuckets(): number {
    return [...this.#store.views.keys()].length
  }

  get spread(): Spread | undefined {
    return this.#spread
  }

  offer(arrival: Arrival): void {
    const { key, cost, costs } = arrival
    this.#advance(arrival.at + NANOSECOND)
    // What departed within a nanosecond of it has set the time forward.
    const now = Math.max(arrival.at, this.#now)
    const request = { id: undefined, key, data: '', cost, costs, deadline: Number.POSITIVE_INFINITY }
    const admission = this.#store.admit({ ...request, settings: SETTINGS }, now)
    this.#summary.arrived(arrival)
    this.#spread ??= spreadFrom(arrival.at, this.#intervalOf(key))
    const entry: Entry = { arrival, position: 0, outcome: undefined }
    this.#entries.push(entry)
    if (admission.accepted) this.#accept(entry, admission, now)
    else this.#reject(entry, admission, now)
    this.#store.forget(now)
    this.#tell()
  }

  finish(): void {
    this.#advance(Number.POSITIVE_INFINITY)
    this.#tell()
  }

  summary(): Summary {
    const [totals, further] = [this.families.summaries(), this.families.further]
    return {
      ...this.#summary.build(),
      ...(totals.length > 0 && { totals }),
      ...(further > 0 && { furtherTotals: further }),
    }
  }

  #accept(entry: Entry, { id, position, waiting, capacity }: Accepted, now: number): void {
    const { arrival } = entry
    entry.position = position
    this.families.accepted(arrival)
    this.#spread!.accepted.add(arrival.at, 1)
    this.#waiting.set(id, entry)
    this.#advance(now)
    if (!this.#waiting.has(id)) return
    this.families.waits(arrival)
    this.#summary.filled(arrival.key, waiting, capacity, arrival.at)
  }

  #reject(entry: Entry, { reason, quota, at, retryAfterMs }: Rejected, now: number): void {
    const { arrival } = entry
    entry.outcome = { accepted: false, reason, retryAt: now + retryAfterMs * MILLISECOND }
    this.families.rejected(arrival, at)
    this.#summary.rejected(reason, quota)
    this.#spread!.rejected.add(arrival.at, 1)
  }

  /** Does what is due until then, each at its own time. */
  #advance(until: number): void {
    for (;;) {
      const endsAt = this.#running.first?.endsAt ?? Number.POSITIVE_INFINITY
      const departsAt = this.#store.nextDeparture()
      const at = Math.min(endsAt, departsAt)
      if (at > until || at === Number.POSITIVE_INFINITY) return
      this.#now = Math.max(this.#now, at)
      if (endsAt <= this.#now) this.#store.finish(this.#running.shift()!.job, COMPLETED, this.#now)
      else this.#start(this.#now)
    }
  }

  #start(now: number): void {
    const job = this.#store.claim(now)
    // Children that come due together join in slices.
    if (job === undefined) return
    const slot = this.#store.starts.gate(job, now)
    this.#store.starts.began(job, slot, { calledAt: now, returnedAt: now, delay: 0 })
    this.#running.push({ job, endsAt: now + this.#handlerTime })
    const entry = this.#waiting.get(job.id)!
    this.#waiting.delete(job.id)
    const { arrival, position } = entry
    const departsAt = Math.max(arrival.at, now)
    entry.outcome = { accepted: true, position, departsAt }
    this.families.departed(arrival, departsAt)
    this.#summary.departed(arrival.at, departsAt)
    this.#spread!.departures.add(departsAt, 1)
  }

  #tell(): void {
    for (let { first } = this.#entries; first?.outcome !== undefined; first = this.#entries.first) {
      this.#onOutcome?.(first.arrival, first.outcome)
      this.#entries.shift()
    }
  }

  /** That of the outermost total: then each column of a picture has the same number of departures of a busy family. */
  #intervalOf(key: string): number {
    const { limit } = this.#limits.totalsOf(key)[0] ?? this.#limits.resolve(key)
    return limit.interval
  }
}
