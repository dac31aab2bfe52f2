// As src/redis/scripts/lib/under.lua, begun.lua, full.lua, and what share.lua has of buckets.
import type { Cells } from '../../store/cells.ts'
import { allowForClock } from '../../store/grant.ts'
import { isIdle } from '../../store/leave.ts'
import { handedUnits, waitingUnits } from '../../store/line.ts'
import type { Member } from '../../store/member.ts'
import { freeLastSlot, reserve } from '../../store/pace.ts'
import { RUNNING, type Shard } from '../../store/shard.ts'
import type { ModelChild } from '../setup.ts'
import type { Family } from './family.ts'
import { costBelow, shareOf, stand } from './share.ts'
import {
  type Child,
  IN,
  NO_SUMS,
  OUT,
  PLACE_SIZE,
  placeOver,
  type Standing,
  type Sums,
  type Total,
  timesOf,
} from './total.ts'
import { charge, drop, roomAt } from './total-quotas.ts'

/** A slot that is later than this share of the tolerance leaves too little time to start. */
const SHARE = 0.5
/** `SHARE_OF_ROOM` of the scripts: a child may wait with so many times the room that is left. */
const SHARE_OF_ROOM = 4
/** Times are sums of fractions. */
const ROUNDING = 1e-6

/** A bucket below totals: its place in the innermost, and the slots that its granted job has of each. */
export class BucketPlace implements Child, Member {
  static sizeFor(totals: number): number {
    return PLACE_SIZE + 2 * totals
  }

  readonly name: string
  readonly weight: number
  readonly shard: Shard
  readonly place: Standing
  /** Those above it, the innermost first. */
  readonly totals: readonly Total[]
  readonly times: readonly number[]
  readonly #family: Family
  readonly #cells: Cells
  readonly #slots: number
  /** What it holds, as it was written last. */
  sums: Sums = NO_SUMS

  constructor(
    { key, weight = 1 }: ModelChild,
    {
      family,
      cells,
      base,
      shard,
      totals,
    }: {
      readonly family: Family
      readonly cells: Cells
      readonly base: number
      readonly shard: Shard
      readonly totals: readonly Total[]
    },
  ) {
    this.name = key
    this.weight = weight
    this.shard = shard
    this.totals = totals
    this.#family = family
    this.#cells = cells
    this.place = placeOver(cells, base)
    this.#slots = base + PLACE_SIZE
    const slots = Array.from({ length: 2 * totals.length }, (_, index) => this.#slots + index)
    this.times = [...timesOf(this.place), ...slots]
    this.parent.children.push(this)
    shard.member = this
  }

  get frozen(): number {
    return this.shard.bucket.frozen
  }

  get parent(): Total {
    return this.totals[0]!
  }

  /** The slots of the granted job; `never`: it has none. */
  slotOf(index: number): number {
    return this.#cells[this.#slots + index]!
  }

  /** Until when the job may start with that slot. */
  #latestOf(index: number): number {
    return this.#cells[this.#slots + this.totals.length + index]!
  }

  #keepSlot(index: number, slot: number, latest: number): void {
    this.#cells[this.#slots + index] = slot
    this.#cells[this.#slots + this.totals.length + index] = latest
  }

  forgetSlots(): void {
    const { never } = this.shard.ends
    for (const index of this.totals.keys()) this.#keepSlot(index, never, never)
  }

  get held(): Sums {
    const { shard } = this
    return {
      waiting: waitingUnits(shard),
      running: shard.jobs.filter(({ state }) => state === RUNNING).length,
      inHanded: shard.handed.count,
      handed: handedUnits(shard),
      grants: shard.bucket.granted === 0 ? 0 : 1,
    }
  }

  stand(due: number): void {
    const { shard } = this
    const waits = waitingUnits(shard) > handedUnits(shard) + shard.bucket.grantedCost
    const hasWork = waits && shard.bucket.paused === 0
    this.place.idleAt = isIdle(shard) ? Math.max(shard.bucket.next, shard.bucket.frozen) : shard.ends.far
    stand(this.#family, this, hasWork ? due : undefined, () => costBelow(this.#family, this))
    this.#family.sync(this)
  }

  hand(job: number, sign: 1 | -1): void {
    const cost = this.shard.cost(job)
    const family = this.#family
    const number = this.#numberOf(job)
    for (const { marks } of this.totals) marks.forget(this.#family, number)
    const isKept = sign === -1 && family.has('burned-slot-charged')
    for (const child of family.pathOf(this)) {
      const { bucket } = child.parent!
      const { place } = child
      const share = shareOf(family, child, cost)
      if (sign === 1) {
        bucket.largest = Math.max(bucket.largest, share)
        bucket.virtual = Math.max(bucket.virtual, place.tag)
      }
      if (!isKept) place.tag += sign * share
      const isAlone = sign === -1 && place.standing === OUT
      if (isAlone && !family.has('return-joins-anew')) place.standing = IN
      bucket.highest = Math.max(bucket.highest, place.tag)
      family.touch(child.parent!)
    }
  }

  refuses(cost: number): 'full' | 'paused' | undefined {
    let { waiting } = this.held
    for (const total of this.totals) {
      const room = total.limit.capacity - total.sums.waiting
      const isFull = cost > room || Math.ceil((waiting + cost) / SHARE_OF_ROOM) > room
      if (isFull) return total.bucket.paused === 1 ? 'paused' : 'full'
      waiting = total.sums.waiting
    }
    return undefined
  }

  join(job: number): void {
    const family = this.#family
    family.sync(this)
    for (const child of family.pathOf(this)) {
      const { bucket } = child.parent!
      bucket.largest = Math.max(bucket.largest, shareOf(family, child, this.shard.cost(job)))
      family.touch(child.parent!)
    }
  }

  earliest(job: number, at: number): number | undefined {
    const own = this.sums.grants
    let later = at
    for (const [index, total] of this.totals.entries()) {
      allowForClock(total)
      const isHeld = total.bucket.paused === 1 && !this.#family.has('family-pause-at-claim-only')
      if (isHeld || total.isFull(total.sums.running + total.sums.grants - own)) return undefined
      const { next, frozen } = total.bucket
      if (index > 0 && this.#family.has('parent-not-enforced')) continue
      const thaws = this.#family.has('family-freeze-not-at-gate') ? next : frozen
      later = Math.max(later, next, thaws, this.#afterGrants(total, this.shard.cost(job)))
    }
    if (this.#family.has('family-quota-not-at-gate')) return later
    return roomAt(
      this.totals.map((total) => [total, this.shard.cost(job)]),
      later,
    )
  }

  /** A late start must not come right behind a later one that keeps others away for longer than the tolerance. */
  #afterGrants({ limit, bucket, sums, ends }: Total, cost: number): number {
    if (sums.grants <= this.sums.grants || cost * limit.interval <= limit.tolerance) return ends.never
    return (bucket.grantedSlot === ends.never ? bucket.next : bucket.grantedSlot) + limit.tolerance
  }

  reserve(job: number, startAt: number): number {
    const { durations } = this.#family.setup
    let latest = this.shard.ends.far
    for (const [index, total] of this.totals.entries()) {
      const { bucket, limit } = total
      const due = Math.max(bucket.next, bucket.frozen)
      const slot = reserve(
        total,
        this.shard.cost(job),
        startAt - due <= SHARE * limit.tolerance ? due : startAt,
      )
      bucket.grantedSlot = slot
      this.#keepSlot(index, slot, slot + limit.tolerance)
      drop(total)
      // It is known only later when it started: until then it counts as long as it can.
      charge(total, this.shard.cost(job), slot + limit.tolerance)
      this.#family.touch(total)
      if (limit.tolerance < durations.leastTolerance) continue
      latest = Math.min(latest, slot + limit.tolerance - this.#clockError(total))
    }
    return latest
  }

  #clockError({ limit }: Total): number {
    return Math.min(this.#family.setup.durations.clockAllowance, limit.tolerance / 4)
  }

  isBusy(): boolean {
    const { leastTolerance } = this.#family.setup.durations
    return this.totals.some(
      ({ sums, limit }) => sums.grants > this.sums.grants && limit.tolerance < leastTolerance,
    )
  }

  unreserve(): void {
    const { never } = this.shard.ends
    for (const [index, total] of this.totals.entries()) {
      const slot = this.slotOf(index)
      if (slot === never) continue
      const isKept = this.#family.has('family-quota-not-given-back')
      if (!isKept) charge(total, -this.shard.bucket.grantedCost, this.#latestOf(index))
      const granted = this.#latestOf(index) - total.limit.tolerance
      if (Math.abs(total.bucket.grantedSlot - granted) < ROUNDING) {
        freeLastSlot(total, slot)
        total.bucket.grantedSlot = never
      }
      this.#family.touch(total)
    }
    this.forgetSlots()
  }

  #numberOf(job: number): number {
    return this.#family.numberOf(this.#family.places.indexOf(this), job)
  }

  start(job: number, at: number): void {
    const number = this.#numberOf(job)
    for (const { marks } of this.totals) marks.start(this.#family, number)
    const cost = this.shard.cost(job)
    for (const [index, total] of this.totals.entries()) {
      const { bucket, limit, ends } = total
      const slot = this.slotOf(index)
      if (slot !== ends.never) charge(total, -cost, this.#latestOf(index))
      charge(total, cost, at + this.#clockError(total))
      if (slot === ends.never || at > this.#latestOf(index) - this.#clockError(total)) {
        bucket.next = Math.max(bucket.next, at + limit.interval * cost)
      }
      if (at >= bucket.lastStart) Object.assign(bucket, { lastStart: at, startedCost: cost })
      this.#family.touch(total)
    }
    this.forgetSlots()
  }
}
