// As src/redis/scripts/lib/total.lua and summed.lua.
import type { ModelLimit, Setup } from '../../setup.ts'
import { type Cells, cellsOf, type Fields, recordType } from '../../store/cells.ts'
import type { Clocked } from '../../store/grant.ts'
import { farthestNext, spacingAfterSlot, spacingAfterStart } from '../../store/pace.ts'
import type { Meta, Shard } from '../../store/shard.ts'
import type { Ends } from '../../store/times.ts'
import { Use } from '../../store/use.ts'
import { type FamilySetup, limitsOf, type ModelChild } from '../setup.ts'
import { Marks } from './overdue.ts'

/** What a child of a total is: without work, taking part, or frozen with work. */
export const OUT = 0
export const IN = 1
export const FROZEN = 2

/** In which set of its total a child stands. */
export const NOWHERE = 0
export const LATER = 1
export const READY = 2

const TOTAL = recordType([
  'exists',
  /** Which of its limits is in force by the rules, and which it has. */
  'book',
  'limit',
  'next',
  'frozen',
  'paused',
  'lastCost',
  'lastStart',
  'startedCost',
  'grantedSlot',
  'virtual',
  'joining',
  'largest',
  'highest',
  /** Its score in `:due`; `far`: it is not in it, or not outermost. */
  'due',
  /** Its score in `:idle`; `far`: it is not in it. */
  'idleAt',
  /** When a claim marked what was in hand. */
  'markedAt',
])
const STANDING = recordType(['tag', 'standing', 'place', 'dueAt', 'readyTag', 'idleAt'])

export type Standing = ReturnType<typeof STANDING.over>

/** One of those who share a total. */
export interface Child {
  readonly name: string
  readonly weight: number
  readonly place: Standing
  readonly parent: Total | undefined
  readonly frozen: number
}

/** What a bucket holds that counts in the totals above it. */
export interface Sums {
  readonly waiting: number
  readonly running: number
  readonly inHanded: number
  readonly handed: number
  readonly grants: number
}

export const NO_SUMS: Sums = { waiting: 0, running: 0, inHanded: 0, handed: 0, grants: 0 }

export function addSums(one: Sums, other: Sums): Sums {
  return {
    waiting: one.waiting + other.waiting,
    running: one.running + other.running,
    inHanded: one.inHanded + other.inHanded,
    handed: one.handed + other.handed,
    grants: one.grants + other.grants,
  }
}

/** One limit for the sum of a family, with the queue of those that share it. */
export class Total implements Child, Clocked {
  static sizeFor(child: ModelChild, { durations, jobs }: Pick<FamilySetup, 'durations' | 'jobs'>): number {
    return TOTAL.size + STANDING.size + jobs.length + Use.sizeFor(countedBy(child, durations))
  }

  readonly name: string
  readonly weight: number
  readonly limits: readonly ModelLimit[]
  readonly parent: Total | undefined
  readonly children: Child[] = []
  readonly bucket: ReturnType<typeof TOTAL.over>
  readonly place: Standing
  readonly marks: Marks
  readonly setup: Setup
  readonly meta: Meta
  readonly ends: Ends
  /** What counts in its quotas. */
  readonly use: Use
  /** What all below it hold, as it was written last. */
  sums: Sums = NO_SUMS
  readonly times: readonly number[]

  constructor(
    child: ModelChild,
    {
      cells,
      base,
      shard,
      parent,
    }: {
      readonly cells: Cells
      readonly base: number
      readonly shard: Shard
      readonly parent: Total | undefined
    },
  ) {
    this.name = child.key
    this.limits = limitsOf(child)
    this.weight = child.weight ?? 1
    this.parent = parent
    parent?.children.push(this)
    this.bucket = TOTAL.over(cells, base)
    this.place = placeOver(cells, base + TOTAL.size)
    this.setup = shard.setup
    this.meta = shard.meta
    this.ends = shard.ends
    const counted = countedBy(child, shard.setup.durations)
    const behind = base + TOTAL.size + STANDING.size
    this.use = new Use(cells, behind, counted, this.ends)
    this.marks = new Marks(this, behind + Use.sizeFor(counted))
    this.times = [
      ...cellsOf(this.bucket, ['next', 'frozen', 'lastStart', 'grantedSlot', 'due', 'idleAt', 'markedAt']),
      ...timesOf(this.place),
      ...this.use.times,
    ]
  }

  has(): boolean {
    return false
  }

  get frozen(): number {
    return this.bucket.frozen
  }

  get limit(): ModelLimit {
    return this.limits[this.bucket.limit]!
  }

  /** Follows the rules: `keep` of the scripts. The last job that was granted a slot may start until the same time as before. */
  changeLimit(forgetsStart: boolean): void {
    const { bucket, ends } = this
    const { tolerance } = this.limit
    const before = spacingAfterSlot(this)
    bucket.limit = bucket.book
    const fromSlot = bucket.next === ends.never ? ends.never : bucket.next + (spacingAfterSlot(this) - before)
    const fromStart = bucket.lastStart - this.limit.tolerance + spacingAfterStart(this)
    bucket.next = Math.max(ends.never, fromSlot, bucket.lastStart === ends.never ? ends.never : fromStart)
    if (forgetsStart) bucket.next = ends.never
    if (bucket.grantedSlot !== ends.never) bucket.grantedSlot += tolerance - this.limit.tolerance
  }

  /** As `forget_old_time` of pace.lua: a loss under a slower limit may have put the next slot further away than the limit does now. */
  forgetOldTime(): void {
    const { bucket, limit, setup } = this
    const soon = 2 * setup.durations.farthest
    if (bucket.next <= soon) return
    bucket.next = Math.min(bucket.next, Math.max(farthestNext(this), soon + limit.interval * limit.capacity))
  }

  get takers(): readonly Child[] {
    return this.children.filter(({ place }) => place.standing === IN)
  }

  get weights(): number {
    return this.takers.reduce((sum, { weight }) => sum + weight, 0)
  }

  isFull(taken: number): boolean {
    return taken >= (this.limit.places ?? Number.POSITIVE_INFINITY)
  }

  clear(): void {
    const { never, far } = this.ends
    const { bucket } = this
    Object.assign(bucket, {
      exists: 0,
      limit: bucket.book,
      next: never,
      frozen: never,
      paused: 0,
      lastCost: 0,
      lastStart: never,
      startedCost: 0,
    })
    Object.assign(bucket, {
      grantedSlot: never,
      virtual: 0,
      joining: 0,
      largest: 0,
      highest: 0,
      due: far,
      idleAt: far,
      markedAt: never,
    })
    this.use.clear()
    clearPlace(this.place, far, this.parent?.bucket.virtual ?? 0)
  }
}

function countedBy(child: ModelChild, durations: Setup['durations']) {
  return { limits: limitsOf(child), durations }
}

export const PLACE_SIZE = STANDING.size

export function placeOver(cells: Cells, base: number): Standing {
  return STANDING.over(cells, base)
}

export function timesOf(place: Fields<keyof Standing>): number[] {
  return cellsOf(place, ['dueAt', 'idleAt'])
}

/** Who begins anew has the tag 0, which is never above virtual time. */
export function clearPlace(place: Standing, far: number, virtual: number): void {
  Object.assign(place, {
    tag: Math.min(0, virtual),
    standing: OUT,
    place: NOWHERE,
    dueAt: far,
    readyTag: 0,
    idleAt: far,
  })
}
