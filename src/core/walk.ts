import type { Limit } from './limit.ts'
import type { Projection } from './projection.ts'
import * as quotas from './quota.ts'
import { type CountedJob, chargesOf, earliest, holdOf, type QuotaHold, type Usage } from './usage.ts'
import { cooledBy, spacing, warmedBy } from './warmth.ts'

/** How many of the jobs ahead a projection follows one by one. Beyond them its times are estimates. */
export const FARTHEST_STEP = 200

/** How a walk counts. */
export interface WalkOptions {
  /** Starts that count already may still be settled for less. */
  readonly isOpen?: boolean
  /**
   * The earliest way: what may be settled is settled for nothing as soon as it has started, and the bucket does not cool. No job
   * departs before the time that it has then.
   */
  readonly isSoonest?: boolean
}

/** When a job departs. */
export interface Departure {
  readonly at: number
  /**
   * It may depart before: a quota of a unit holds it or a job ahead of it, and counts starts that may still be settled for less.
   */
  readonly mayBeEarlier: boolean
}

/**
 * Follows a line: when each of its jobs departs, if handlers and places are free, and if every start counts what it said. The
 * projection and the usage that it begins with stay as they are.
 */
export class Walk {
  readonly #limit: Limit
  readonly #isOpen: boolean
  readonly #isSoonest: boolean
  /** The places of the quotas: first those of cost units, so that one of a unit is seen to hold a job only where these do not. */
  readonly #order: readonly number[]
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
  #steps = 0
  #mayBeEarlier = false
  /** Whether a quota of a unit held the job that was looked at last. */
  #isHeldByUnit = false

  constructor(
    limit: Limit,
    { slot, warmth }: Projection,
    usage: Usage,
    { isOpen = false, isSoonest = false }: WalkOptions = {},
  ) {
    this.#limit = limit
    this.#isOpen = isOpen
    this.#isSoonest = isSoonest
    this.#order = orderOf(limit)
    this.#from = slot
    this.#warmth = warmth
    this.#last = slot
    this.#counts = limit.quotas.map((quota, index) => {
      const use = isSoonest && isOpen && quota.unit !== undefined ? quotas.createUse() : usage[index]!
      return quotas.isRolling(quota.window)
        ? new RollingCount(quota, quota.window.length, use, slot)
        : new PeriodCount(quota, use)
    })
  }

  /** Whether the last job that departed, or a job before it, may have departed earlier. */
  get mayBeEarlier(): boolean {
    return this.#mayBeEarlier
  }

  /** Returns the quota for which the next job waits, if it waits for one. */
  holdOf(job: CountedJob): QuotaHold | undefined {
    return holdOf(this.#limit, this.#counts, chargesOf(this.#limit, job), this.#earliest(job))
  }

  /** Returns when the next job departs, and does not count it. */
  departureOf(job: CountedJob): Departure {
    const at = this.#roomAt(chargesOf(this.#limit, job), this.#earliest(job))
    return { at, mayBeEarlier: this.#mayBeEarlier || this.#isHeldBySoft }
  }

  /** Returns when the next job departs, and counts it. */
  depart(job: CountedJob): number {
    const charges = chargesOf(this.#limit, job)
    const slot = this.#slot
    const at = this.#roomAt(charges, this.#earliest(job))
    this.#mayBeEarlier ||= this.#isHeldBySoft
    for (let index = 0; index < charges.length; index++) {
      const count = this.#counts[index]!
      if (charges[index]! > count.quota.amount) this.#hasOversized = true
      if (!this.#isSoonest || count.quota.unit === undefined) count.charge(charges[index]!, at)
    }
    if (at > slot) this.#pauseUntil(at)
    this.#together += job.cost
    this.#last = at
    this.#steps++
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

  /** What was looked at last is held by what may be settled for less: starts that count already, or jobs ahead of it. */
  get #isHeldBySoft(): boolean {
    return this.#isHeldByUnit && (this.#isOpen || this.#steps > 0)
  }

  #roomAt(charges: readonly number[], from: number): number {
    this.#isHeldByUnit = false
    return earliest(charges.length, from, (place, at) => {
      const index = this.#order[place]!
      const count = this.#counts[index]!
      const room = count.roomAt(charges[index]!, at)
      if (room > at && count.quota.unit !== undefined) this.#isHeldByUnit = true
      return room
    })
  }

  #pauseUntil(at: number): void {
    const work = spacing(this.#limit, this.#warmth, this.#together)
    const warmth = warmedBy(this.#limit, this.#warmth, work)
    this.#warmth = this.#isSoonest ? warmth : cooledBy(warmth, at - (this.#from + work))
    this.#from = at
    this.#together = 0
  }
}

function orderOf({ quotas: parts }: Limit): number[] {
  const places = [...parts.keys()]
  const isOfUnit = (index: number) => Number(parts[index]!.unit !== undefined)
  return places.sort((a, b) => isOfUnit(a) - isOfUnit(b))
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

  roomAt(units: number, from: number): number {
    return quotas.roomAmong(this.quota.amount, this, this.#first, this.#total + units, from)
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
