import { periodAround } from '../../../src/core/calendar.ts'
import { hasParts, type Limit } from '../../../src/core/limit.ts'
import { BOUNDARY, FARTHEST_AHEAD, isRolling, type Quota } from '../../../src/core/quota.ts'
import type { Costs } from '../../../src/core/usage.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { Asked } from '../actors/recorder.ts'

/** A quota counts in parts of its window, each until its last moment has left the window. */
const PART = 1 / 60
/** A worker counts its start when it can have been at the latest; microseconds. */
const COUNTED = 100_000
/** Starts that count no more are forgotten when there are so many. */
const MANY = 100

/** A job or a turn as quotas see it. */
export interface Counting {
  readonly cost: number
  readonly costs?: Costs
}

/** A start, and the most that it may count: until it is surely settled, the most of its estimate and of what was asked for. */
interface Charge extends Counting {
  /** When it started, and when it may count as started at the latest. */
  readonly since: number
  readonly at: number
  readonly asked: readonly Asked[]
  /** Whether it may have started is not known. */
  readonly isDoubtful: boolean
}

export interface RoomOptions {
  readonly limit: Limit
  readonly asked: readonly Asked[]
  /** From the world's clock to that of Redis; undefined: that clock is set. Microseconds. */
  readonly ahead: number | undefined
  /** How long the ways of calls take; microseconds. */
  readonly travel: number
}

/**
 * When the quotas and places of a key have room, at the latest: all counts that may count for the store. Microseconds of the world.
 */
export class SetRoom {
  readonly #asked: readonly Asked[]
  readonly #ahead: number | undefined
  readonly #late: number
  #limit: Limit
  /** Those of limits before: they may come back. */
  #past: readonly Quota[] = []
  #charges: Charge[] = []
  readonly #taken = new Set<string>()
  #freeSince = 0
  /** What counts at that time is not known. */
  #unknownAt = Number.NEGATIVE_INFINITY

  constructor({ limit, asked, ahead, travel }: RoomOptions) {
    this.#limit = limit
    this.#asked = asked
    this.#ahead = ahead
    this.#late = COUNTED + travel
  }

  replaceLimit(limit: Limit, at: number): void {
    const wasFull = this.#isFull()
    // What a window that is replaced counts, counts in parts of that window from then on.
    const parts = Math.max(0, ...this.#limit.quotas.map((quota) => partOf(quota)))
    this.#past = [...this.#past, ...this.#limit.quotas]
    // Of a period of a calendar it is not known when in it something started: it may count as if it was now.
    const isTimeKnown = this.#past.every(({ window }) => isRolling(window))
    const earliest = isTimeKnown ? Number.NEGATIVE_INFINITY : at + FARTHEST_AHEAD
    if (hasParts(this.#limit))
      this.#charges = this.#charges.map((charge) => ({
        ...charge,
        at: Math.max(charge.at + parts, earliest),
      }))
    this.#limit = limit
    if (wasFull) this.#freeSince = at
  }

  start(event: HistoryEvent & { type: 'start' }, counting: Counting, at: number): void {
    const { id, key, fence, isHeld = false } = event
    const asked = this.#asked.filter((one) => one.key === key && one.fence === fence)
    this.#charge({ ...counting, asked, since: event.at, at, isDoubtful: false })
    if (isHeld || !isTurnId(id)) this.#taken.add(id)
  }

  /** Something may count as started then. */
  doubt({ cost, costs }: Counting, at: number): void {
    this.#charge({ cost, ...(costs && { costs }), asked: [], since: at, at, isDoubtful: true })
  }

  #charge(charge: Charge): void {
    const { quotas } = this.#limit
    if (quotas.length === 0 && this.#charges.length === 0) return
    if (this.#charges.length > MANY) {
      const all = [...quotas, ...this.#past]
      this.#charges = this.#charges.filter(({ at }) =>
        all.some((quota) => this.#endOf(quota, at) > charge.at),
      )
    }
    this.#charges.push(charge)
  }

  free(id: string, at: number): void {
    const wasFull = this.#isFull()
    if (this.#taken.delete(id) && wasFull) this.#freeSince = at
  }

  /** Whatever counts may count as if it had started then: the server started anew, or its clock was set. */
  forget(at: number): void {
    this.#unknownAt = Math.max(this.#unknownAt, at)
  }

  /**
   * The time from `from` on at which it has room at the latest; Infinity while that is not known. Undefined: for whatever may go
   * before it.
   */
  roomFor(counting: Counting | undefined, from: number): number {
    if (this.#isFull()) return Number.POSITIVE_INFINITY
    let at = Math.max(from, this.#freeSince)
    for (const quota of this.#limit.quotas) at = Math.max(at, this.#roomIn(quota, counting, at))
    return at
  }

  /** What the quotas may count at that time, each at the least and at the most: undefined where that is not known. */
  bounds(at: number): { readonly quota: Quota; readonly least: number; readonly most: number }[] | undefined {
    if (this.#unknownAt > Number.NEGATIVE_INFINITY) return undefined
    return this.#limit.quotas.flatMap((quota) => {
      const { window } = quota
      if (!isRolling(window)) return []
      const sum = (unitsOf: (charge: Charge) => number) =>
        this.#charges.reduce((units, charge) => units + unitsOf(charge), 0)
      const first = at - window.length
      const least = sum((charge) => (charge.since > first + this.#late ? leastIn(quota, charge) : 0))
      const mayCount = first - partOf(quota) - 2 * this.#late
      const most = sum((charge) => (charge.at > mayCount ? this.#mostIn(quota, charge, at) : 0))
      return [{ quota, least, most }]
    })
  }

  #isFull(): boolean {
    return this.#taken.size >= this.#limit.concurrency
  }

  #roomIn(quota: Quota, counting: Counting | undefined, from: number): number {
    const charges = this.#charges.map((charge) => ({ charge, until: this.#endOf(quota, charge.at) }))
    const known = this.#unknownAt === Number.NEGATIVE_INFINITY ? from : this.#endOf(quota, this.#unknownAt)
    const settled = this.#charges.flatMap(({ asked }) => asked.flatMap(({ until = 0 }) => until + this.#late))
    const times = [...charges.map(({ until }) => until), ...settled].filter((time) => time > from)
    const units = counting === undefined ? quota.amount : unitsIn(quota, counting)
    const hasRoom = (at: number) => {
      const used = charges.reduce(
        (sum, { charge, until }) => (until > at ? sum + this.#mostIn(quota, charge, at) : sum),
        0,
      )
      return at >= known && (used === 0 || used + units <= quota.amount)
    }
    const found = [from, known, ...times].sort((a, b) => a - b).find((at) => at >= from && hasRoom(at))
    return found ?? Number.POSITIVE_INFINITY
  }

  /** When a start stops to count at the latest. */
  #endOf(quota: Quota, at: number): number {
    if (isRolling(quota.window)) return at + quota.window.length + partOf(quota) + this.#late
    if (this.#ahead === undefined) return Number.POSITIVE_INFINITY
    const { until } = periodAround(quota.window, at + this.#ahead + BOUNDARY + this.#late)
    return until + BOUNDARY - this.#ahead
  }

  #mostIn(quota: Quota, { asked, ...counting }: Charge, at: number): number {
    const estimate = unitsIn(quota, counting)
    const { unit } = quota
    if (unit === undefined) return estimate
    const settled = asked.find(({ answer, until = 0 }) => answer === true && until + this.#late <= at)
    if (settled !== undefined) return settled.amounts[unit] ?? estimate
    return Math.max(estimate, ...asked.map(({ amounts }) => amounts[unit] ?? 0))
  }
}

/** What it counts at the least: it was settled for less, or may have been. */
function leastIn(quota: Quota, { asked, isDoubtful, ...counting }: Charge): number {
  if (isDoubtful) return 0
  const estimate = unitsIn(quota, counting)
  const { unit } = quota
  if (unit === undefined) return estimate
  const carriedOut = asked.filter(({ answer }) => answer !== false)
  return Math.min(estimate, ...carriedOut.map(({ amounts }) => amounts[unit] ?? estimate))
}

function partOf({ window }: Quota): number {
  return isRolling(window) ? window.length * PART : 0
}

function unitsIn({ unit, each = 0 }: Quota, { cost, costs }: Counting): number {
  return unit === undefined ? cost : (costs?.[unit] ?? each)
}
