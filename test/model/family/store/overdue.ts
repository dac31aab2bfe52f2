// As src/redis/scripts/lib/overdue.lua.
import { GRANTED, HANDED } from '../../store/shard.ts'
import type { Family, Known } from './family.ts'
import type { Total } from './total.ts'

/** What an onlooker can tell by the epoch of a job that is in hand. */
const NEW = 0
const MARKED = 1
const OVERDUE = 2

/** Of the jobs below a total, which were handed over so long ago that they hold up nothing. One cell for each job of the setup. */
export class Marks {
  readonly #total: Total
  readonly #base: number

  constructor(total: Total, base: number) {
    this.#total = total
    this.#base = base
  }

  /** A job that was handed over now, or is in hand no more. */
  forget(family: Family, job: number): void {
    family.cells[this.#base + job] = NEW
  }

  clear(family: Family): void {
    family.cells.fill(NEW, this.#base, this.#base + family.setup.jobs.length)
  }

  /** All below the total. */
  #jobs({ jobs, places }: Family): Known[] {
    return jobs.filter(({ bucket }) => places[bucket]!.totals.includes(this.#total))
  }

  /** Jobs that were handed over and have no slot: how many are marked at least so, and their cost units. */
  #count(family: Family, least: number): { readonly jobs: number; readonly units: number } {
    const found = this.#jobs(family).filter(({ job, shard, index }) => {
      const isInHand = shard.jobs[index]!.state === HANDED
      return isInHand && family.cells[this.#base + job]! >= least
    })
    const units = found.reduce((sum, { shard, index }) => sum + shard.cost(index), 0)
    return { jobs: found.length, units }
  }

  marked(family: Family): { readonly jobs: number; readonly units: number } {
    return this.#count(family, MARKED)
  }

  overdue(family: Family): { readonly jobs: number; readonly units: number } {
    return this.#count(family, OVERDUE)
  }

  #overdueAt(family: Family): number {
    const { durations, lookAhead } = family.setup
    const waiting = this.marked(family).units - this.overdue(family).units
    return (
      this.#total.bucket.markedAt + lookAhead + waiting * this.#total.limit.interval + durations.overdueGrace
    )
  }

  /** All wait for the one that has the only slot. */
  #isBusy({ setup }: Family): boolean {
    const { sums, limit } = this.#total
    return sums.grants > 0 && limit.tolerance < setup.durations.leastTolerance
  }

  /** A job starts: those behind it have their time from now on. */
  start(family: Family, job: number): void {
    if (family.cells[this.#base + job]! >= MARKED) this.#total.bucket.markedAt = 0
    this.forget(family, job)
  }

  /** When less will count as handed over, for a claim that looks ahead. */
  overdueFrom(family: Family): number {
    if (this.#isBusy(family)) return family.ends.far
    const inHand = this.#count(family, NEW).jobs
    if (inHand === this.overdue(family).jobs) return family.ends.far
    return Math.min(family.ends.far, this.#overdueAt(family) + family.setup.lookAhead)
  }

  /** A claim chooses among those below the total. */
  heed(family: Family): void {
    const { bucket, sums } = this.#total
    if (sums.inHanded === 0 || this.#isBusy(family) || this.#overdueAt(family) > 0) return
    for (const { job, shard, index } of this.#jobs(family)) {
      const { state } = shard.jobs[index]!
      if (state !== HANDED && state !== GRANTED) continue
      const cell = this.#base + job
      family.cells[cell] = family.cells[cell] === NEW ? MARKED : OVERDUE
    }
    bucket.markedAt = 0
    family.touch(this.#total)
  }
}
