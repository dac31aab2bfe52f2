import type { Limit } from '../core/limit.ts'
import type { RuleBook, TotalRule } from '../core/rule-book.ts'
import { useOf } from '../core/total.ts'
import type { Arrival } from './arrival.ts'
import {
  type CountedChild,
  type CountedTotal,
  MOST_SHOWN,
  summarizeTotal,
  type TotalSummary,
} from './family-summary.ts'

/** A total, and which child of it a key belongs to. */
interface Place {
  readonly total: TotalRecord
  readonly child: ChildRecord
}

/** What happens below totals: for each of them and its children, who got what of it, and who waited how long. */
export class FamilyBook {
  readonly #limits: RuleBook
  readonly #totals = new Map<string, TotalRecord>()
  readonly #places = new Map<string, readonly Place[]>()

  constructor(limits: RuleBook) {
    this.#limits = limits
  }

  /** @param path the total that refuses it, if one does */
  rejected({ key }: Arrival, path?: string): void {
    for (const { total, child } of this.#placesOf(key)) {
      child.rejected++
      total.arrivals++
      if (total.path === path) total.rejectedByIt++
    }
  }

  /** The job departs later, or at once. */
  accepted(arrival: Arrival): void {
    for (const { total, child } of this.#placesOf(arrival.key)) total.accepted(child, arrival)
  }

  /** The job that was accepted last has not departed at once. */
  waits({ key }: Arrival): void {
    for (const { total } of this.#placesOf(key)) total.noteWaiting()
  }

  /** A job that was accepted departs. Events must come in the order of time. */
  departed(arrival: Arrival, at: number): void {
    for (const { total, child } of this.#placesOf(arrival.key)) total.departed(child, arrival, at)
  }

  /** The totals with most arrivals. */
  summaries(): TotalSummary[] {
    return this.#sorted().slice(0, MOST_SHOWN).map(summarizeTotal)
  }

  /** The total with most arrivals, and of several the outermost; undefined: no total governed a key. */
  get largest(): CountedTotal | undefined {
    return this.#sorted()[0]
  }

  /** How many totals there are beside those. */
  get further(): number {
    return Math.max(0, this.#totals.size - MOST_SHOWN)
  }

  #sorted(): TotalRecord[] {
    return [...this.#totals.values()].sort((one, other) => other.arrivals - one.arrivals)
  }

  #placesOf(key: string): readonly Place[] {
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const rules = this.#limits.totalsOf(key)
    const places = rules.map((rule, index): Place => {
      const total = this.#totalOf(rule)
      const below = rules[index + 1]
      const [name, limit] = below ? [below.path, below.limit] : [key, this.#limits.resolve(key).limit]
      return { total, child: total.childOf(name, limit.weight) }
    })
    this.#places.set(key, places)
    return places
  }

  #totalOf(rule: TotalRule): TotalRecord {
    const known = this.#totals.get(rule.path) ?? new TotalRecord(rule)
    this.#totals.set(rule.path, known)
    return known
  }
}

class ChildRecord implements CountedChild {
  readonly name: string
  readonly weight: number
  readonly arrivedAt: number[] = []
  readonly waits: number[] = []
  readonly costs: number[] = []
  rejected = 0
  used = 0
  usedMeanwhile = 0
  waiting = 0
  /** What the family had used when this child's first job came of those that wait. */
  #usedBefore = 0

  constructor(name: string, weight: number) {
    this.name = name
    this.weight = weight
  }

  accepted(usedByAll: number): void {
    if (this.waiting++ === 0) this.#usedBefore = usedByAll
  }

  departed({ at: arrivedAt, cost }: Arrival, at: number, use: number, usedByAll: number): void {
    this.arrivedAt.push(arrivedAt)
    this.waits.push(at - arrivedAt)
    this.costs.push(cost)
    this.used += use
    if (--this.waiting === 0) this.usedMeanwhile += usedByAll - this.#usedBefore
  }
}

class TotalRecord {
  readonly path: string
  readonly pattern: string
  readonly limit: Limit
  readonly #children = new Map<string, ChildRecord>()
  arrivals = 0
  rejectedByIt = 0
  mostWaiting = 0
  #jobs = 0
  #waiting = 0
  #used = 0
  /** Since when jobs wait; how long jobs waited before; and how much of that time the pace allowed a start that did not come. */
  #busySince = 0
  #busyTime = 0
  #idleTime = 0
  /** Until when the last start uses the pace. */
  #usedUntil = Number.NEGATIVE_INFINITY

  constructor({ path, pattern, limit }: TotalRule) {
    this.path = path
    this.pattern = pattern
    this.limit = limit
  }

  get children(): Iterable<CountedChild> {
    return this.#children.values()
  }

  get utilisation(): number | null {
    return this.#busyTime === 0 ? null : 1 - this.#idleTime / this.#busyTime
  }

  childOf(name: string, weight: number): ChildRecord {
    const known = this.#children.get(name) ?? new ChildRecord(name, weight)
    this.#children.set(name, known)
    return known
  }

  accepted(child: ChildRecord, { at, cost }: Arrival): void {
    this.arrivals++
    if (this.#jobs++ === 0) this.#busySince = at
    this.#waiting += cost
    child.accepted(this.#used)
  }

  noteWaiting(): void {
    this.mostWaiting = Math.max(this.mostWaiting, this.#waiting)
  }

  departed(child: ChildRecord, job: Arrival, at: number): void {
    const { cost } = job
    const use = useOf(this.limit, job)
    this.#idleTime += Math.max(0, at - Math.max(this.#usedUntil, this.#busySince))
    this.#usedUntil = Math.max(this.#usedUntil, at) + cost * this.limit.interval
    this.#used += use
    this.#waiting -= cost
    if (--this.#jobs === 0) this.#busyTime += at - this.#busySince
    child.departed(job, at, use, this.#used)
  }
}
