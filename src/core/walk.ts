import type { Limit } from './limit.ts'
import type { Projection } from './projection.ts'
import * as quotas from './quota.ts'
import { type CountedJob, chargesOf, holdOf, type QuotaHold, type Usage } from './usage.ts'
import { cooledBy, spacing, warmedBy } from './warmth.ts'

/** How many of the jobs ahead a projection follows one by one. Beyond them its times are estimates. */
export const FARTHEST_STEP = 200

/**
 * Follows a line: when each of its jobs departs, if handlers and places are free. The projection and the usage that it begins
 * with stay as they are.
 */
export class Walk {
  readonly #limit: Limit
  /** What counts in each quota behind the jobs so far. */
  readonly #counts: Count[]
  /**
   * Where the last pause in the line ended. Units that follow each other from there are counted together, so that nothing is
   * rounded between them.
   */
  #from: number
  #warmth: number
  #together = 0
  /** When the last job departed. */
  #last: number
  /** A job counts more than a whole quota, which was lowered: it departs alone, and takes no more windows than another. */
  #hasOversized = false

  constructor(limit: Limit, { slot, warmth }: Projection, usage: Usage) {
    this.#limit = limit
    this.#from = slot
    this.#warmth = warmth
    this.#last = slot
    this.#counts = limit.quotas.map((quota, index) =>
      quotas.isRolling(quota.window)
        ? new RollingCount(quota, quota.window.length, usage[index]!, slot)
        : new PeriodCount(quota, usage[index]!),
    )
  }

  /** Returns the quota for which the next job waits, if it waits for one. */
  holdOf(job: CountedJob): QuotaHold | undefined {
    return holdOf(this.#limit, this.#counts, chargesOf(this.#limit, job), this.#earliest(job))
  }

  /** Returns when the next job departs, and does not count it. */
  departureOf(job: CountedJob): number {
    return this.#roomAt(chargesOf(this.#limit, job), this.#earliest(job))
  }

  /** Returns when the next job departs, and counts it. */
  depart(job: CountedJob): number {
    const charges = chargesOf(this.#limit, job)
    const slot = this.#slot
    const at = this.#roomAt(charges, this.#earliest(job))
    for (let index = 0; index < charges.length; index++) {
      const count = this.#counts[index]!
      if (charges[index]! > count.quota.amount) this.#hasOversized = true
      count.charge(charges[index]!, at)
    }
    if (at > slot) this.#pauseUntil(at)
    this.#together += job.cost
    this.#last = at
    return at
  }

  /** Returns a time before which no job departs that stands behind the jobs so far and `units` cost units more. */
  behind(units: number): number {
    const byPace = this.#from + spacing(this.#limit, this.#warmth, this.#together + units)
    if (this.#hasOversized) return byPace
    return this.#limit.quotas.reduce((latest, { amount, unit, window }) => {
      if (unit !== undefined || !quotas.isRolling(window)) return latest
      return Math.max(latest, this.#last + (Math.ceil(units / amount) - 1) * window.length)
    }, byPace)
  }

  /** The slot of the next job. */
  get #slot(): number {
    return this.#from + spacing(this.#limit, this.#warmth, this.#together)
  }

  #earliest({ readyAt }: CountedJob): number {
    const slot = this.#slot
    return readyAt === undefined ? slot : Math.max(slot, readyAt)
  }

  #roomAt(charges: readonly number[], from: number): number {
    // A later time may lie in another period of a calendar, so that each quota is asked again.
    for (let at = from; ; ) {
      let later = at
      for (let index = 0; index < charges.length; index++) {
        later = this.#counts[index]!.roomAt(charges[index]!, later)
      }
      if (later === at) return at
      at = later
    }
  }

  #pauseUntil(at: number): void {
    const work = spacing(this.#limit, this.#warmth, this.#together)
    const warmth = warmedBy(this.#limit, this.#warmth, work)
    this.#warmth = cooledBy(warmth, at - (this.#from + work))
    this.#from = at
    this.#together = 0
  }
}

/** What counts in one quota at the end of a walk, which never goes back. */
interface Count extends quotas.QuotaUse {
  readonly quota: quotas.Quota
  roomAt(units: number, from: number): number
  charge(units: number, at: number): void
}

class RollingCount implements Count {
  readonly quota: quotas.Quota
  readonly ends: number[]
  readonly used: number[]
  readonly #length: number
  /** The first entry that still counts, and the sum from there on. */
  #first = 0
  #total = 0

  constructor(quota: quotas.Quota, length: number, use: quotas.QuotaUse, from: number) {
    this.quota = quota
    this.#length = length
    let gone = 0
    while (gone < use.ends.length && use.ends[gone]! <= from) gone++
    this.ends = use.ends.slice(gone)
    this.used = use.used.slice(gone)
    for (const units of this.used) this.#total += units
  }

  /** As `roomAt` of quota.ts. */
  roomAt(units: number, from: number): number {
    const { ends, used } = this
    const { amount } = this.quota
    let at = from
    let total = this.#total + units
    for (let index = this.#first; index < ends.length; index++) {
      if (ends[index]! > from) {
        if (total <= amount) break
        at = ends[index]!
      }
      total -= used[index]!
    }
    return at
  }

  charge(units: number, at: number): void {
    const { ends, used } = this
    while (this.#first < ends.length && ends[this.#first]! <= at) this.#total -= used[this.#first++]!
    this.#total += units
    const end = quotas.endOfPart(this.#length, at)
    const last = ends.length - 1
    if (last >= this.#first && ends[last]! > end) quotas.charge(this.quota, this, units, at)
    else if (last >= this.#first && ends[last] === end) used[last]! += units
    else {
      ends.push(end)
      used.push(units)
    }
  }
}

class PeriodCount implements Count {
  readonly quota: quotas.Quota
  readonly ends: number[]
  readonly used: number[]

  constructor(quota: quotas.Quota, { ends, used }: quotas.QuotaUse) {
    this.quota = quota
    this.ends = [...ends]
    this.used = [...used]
  }

  roomAt(units: number, from: number): number {
    return quotas.roomAt(this.quota, this, units, from)
  }

  charge(units: number, at: number): void {
    quotas.charge(this.quota, this, units, at)
  }
}
