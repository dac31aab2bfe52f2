import { type CalendarWindow, periodAround } from '../core/calendar.ts'
import { SECOND } from '../core/duration.ts'
import type { Quota } from '../core/quota.ts'

/** A start, and what it counts in each quota. */
export interface Charge {
  /** By the clock that the handler read, and as the line counts it; they may be different clocks. */
  readonly readAt: number
  readonly at: number
  readonly parts: Counted[]
}

/** A start as it counts in one quota. */
export interface Counted {
  readonly charge: Charge
  readonly count: QuotaCount
  /** When it started, by the clock of its window. */
  readonly time: number
  units: number
  /** It has left the window. */
  isPast: boolean
}

/** How a count treats what an observer cannot know. */
export interface View {
  /** Which settled amounts count only after `lag`: the greater ones, or the smaller ones. */
  readonly late: 'greater' | 'smaller'
  readonly lag: number
  /** By how much longer than its window a start counts, as a share of the window, and in microseconds. */
  readonly share: number
  readonly extra: number
}

/** A step of a double at the present epoch is a quarter of a microsecond; less than that decides nothing. */
const ROUNDING = 0.5
/** Starts so close to the boundary of a period count in both periods: the other side may use another clock. */
const BOUNDARY = SECOND
/** How many past starts are kept for a start that is read as earlier than the one before it. */
const KEPT = 256

/**
 * Counts what started in the window of one quota. It keeps each start with its time, so it is exact; the algorithm that it
 * checks keeps sums of parts of the window.
 */
export class QuotaCount {
  readonly quota: Quota
  /** What started before, as the line counts it, need not be known. */
  readonly #knownFrom: number
  readonly #view: View
  /** By time; from `#first` on they are in the window of the latest start, or in a period that is kept. */
  #starts: Counted[] = []
  #first = 0
  #sum = 0
  #past = Number.NEGATIVE_INFINITY
  #periods: Period[] = []
  #changes: { readonly from: number; readonly counted: Counted; readonly units: number }[] = []

  constructor(quota: Quota, view: View, knownFrom = Number.NEGATIVE_INFINITY) {
    this.quota = quota
    this.#view = view
    this.#knownFrom = knownFrom
  }

  /**
   * Returns how much counts beside a start of that time: the most in one of the windows that it shares with earlier and with
   * later starts, or in one of its periods.
   */
  used(readAt: number, at: number): number {
    this.#settleUntil(at)
    const { window } = this.quota
    if (!('length' in window)) return Math.max(...this.#periodsOf(window, at).map(({ sum }) => sum))
    const reach = window.length * (1 + this.#view.share) + this.#view.extra
    let most = this.#usedUntil(readAt, reach)
    for (let index = this.#starts.length - 1; index >= 0; index--) {
      const { time } = this.#starts[index]!
      if (time <= readAt || time - readAt >= reach) break
      most = Math.max(most, this.#usedUntil(time, reach))
    }
    return most
  }

  /** Counts a start, unless it need not be known. */
  add(charge: Charge, units: number): void {
    const { readAt, at, parts } = charge
    if (at < this.#knownFrom) return
    const time = 'length' in this.quota.window ? readAt : at
    const counted: Counted = { charge, count: this, time, units: 0, isPast: time <= this.#past }
    let index = this.#starts.length
    while (index > 0 && this.#starts[index - 1]!.time > time) index--
    if (index === this.#starts.length) this.#starts.push(counted)
    else this.#starts.splice(index, 0, counted)
    if (counted.isPast) this.#first += 1
    parts.push(counted)
    replace(counted, units)
  }

  /** Counts `units` for a start from `at` on, or `lag` later. */
  settle(counted: Counted, units: number, at: number): void {
    const { late, lag } = this.#view
    const isLate = late === 'greater' ? units > counted.units : units < counted.units
    if (isLate) this.#changes.push({ from: at + lag, counted, units })
    else replace(counted, units)
  }

  /** Returns the count of a quota that takes the place of this one at `at`: it knows the starts that count in this one then. */
  followedBy(quota: Quota, at: number): QuotaCount {
    const { window } = this.quota
    const since = 'length' in window ? at - window.length : periodAround(window, at).from - BOUNDARY
    const count = new QuotaCount(quota, this.#view, Math.max(this.#knownFrom, since + ROUNDING))
    this.#settleUntil(at)
    for (const { charge, units } of this.#starts) count.add(charge, units)
    for (const { from, counted, units } of this.#changes) {
      const copy = counted.charge.parts.find((part) => part.count === count)
      if (copy !== undefined) count.#changes.push({ from, counted: copy, units })
    }
    return count
  }

  #settleUntil(at: number): void {
    while (this.#changes.length > 0 && this.#changes[0]!.from <= at) {
      const { counted, units } = this.#changes.shift()!
      replace(counted, units)
    }
  }

  /** Adds to the sums in which a start counts. */
  change(counted: Counted, units: number): void {
    const { window } = this.quota
    if (counted.isPast) return
    if ('length' in window) this.#sum += units
    else for (const period of this.#periodsOf(window, counted.time)) period.sum += units
  }

  /** The sum of a window that ends at `time`, which it includes; its other end is outside. */
  #usedUntil(time: number, reach: number): number {
    const past = time - reach + ROUNDING
    if (time >= (this.#starts.at(-1)?.time ?? time)) this.#forget(past)
    let sum = this.#sum
    for (let index = this.#starts.length - 1; index >= this.#first; index--) {
      const counted = this.#starts[index]!
      if (counted.time <= time) break
      sum -= counted.units
    }
    for (let index = this.#first - 1; index >= 0; index--) {
      const counted = this.#starts[index]!
      if (counted.time <= past) break
      sum += counted.units
    }
    return sum
  }

  /** Lets the starts until `past` count no more. Those that go are dropped in bulk, so that each is moved once or twice. */
  #forget(past: number): void {
    this.#past = Math.max(this.#past, past)
    for (; this.#first < this.#starts.length; this.#first++) {
      const counted = this.#starts[this.#first]!
      if (counted.time > past) break
      this.#sum -= counted.units
      counted.isPast = true
    }
    const gone = this.#first - KEPT
    if (gone <= this.#starts.length / 2) return
    this.#starts = this.#starts.slice(gone)
    this.#first -= gone
  }

  /** The periods in which a start at `at` counts. */
  #periodsOf(window: CalendarWindow, at: number): Period[] {
    const period = this.#periodAt(window, at)
    const periods = [period]
    if (at - period.from < BOUNDARY - ROUNDING) periods.push(this.#periodAt(window, period.from - 1))
    if (period.until - at < BOUNDARY - ROUNDING) periods.push(this.#periodAt(window, period.until))
    return periods
  }

  #periodAt(window: CalendarWindow, at: number): Period {
    const known = this.#periods.findLast(({ from, until }) => from <= at && at < until)
    if (known !== undefined) return known
    const period = { ...periodAround(window, at), sum: 0 }
    this.#periods.push(period)
    if (this.#periods.length > PERIODS_KEPT) {
      this.#periods.sort((a, b) => a.from - b.from).shift()
      this.#forget(this.#periods[0]!.from - BOUNDARY)
    }
    return period
  }
}

interface Period {
  readonly from: number
  readonly until: number
  sum: number
}

/** The current period and its neighbours, and one more. */
const PERIODS_KEPT = 4

function replace(counted: Counted, units: number): void {
  counted.count.change(counted, units - counted.units)
  counted.units = units
}
