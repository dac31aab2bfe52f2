import type { Due } from '../../core/due-heap.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import type { FairChild } from '../../core/fair-queue.ts'
import { hasParts } from '../../core/limit.ts'
import { type Child, Total, type TotalledBucket, totalsAbove } from '../../core/total.ts'
import { expectedUnder, type NextUnder, nextUnder, type TotalSlot } from '../../core/total-departures.ts'
import { joinUnder, leaveUnder, rejoinUnder } from '../../core/total-line.ts'
import type { Charge } from './charges.ts'
import type { JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { nextDeparture } from './next-departure.ts'

/** How soon it is asked again at the earliest whether a tag may be forgotten, and at the latest. */
const TAG_ASKED = 100 * MILLISECOND
const TAG_ASKED_BY = 10 * SECOND

/** What a start took of a total. */
export interface SharedStart extends TotalSlot {
  charge: Charge | undefined
}

/** A bucket in its place below the totals above it. */
export class Member implements TotalledBucket {
  handle = -1
  tag = 0
  standing: FairChild['standing'] = 'gone'
  weight: number
  readonly bucket: MemoryBucket
  readonly total: MemoryTotal
  /** The next departure is not before this time; see `Agenda.arm`. */
  since = Number.NEGATIVE_INFINITY
  /** It could go, but for a handler. */
  lacksHandler = false

  constructor(bucket: MemoryBucket, total: MemoryTotal) {
    this.bucket = bucket
    this.total = total
    this.weight = bucket.limit.weight
  }

  get family(): Family {
    return this.total.family
  }

  /** A job of the bucket waits: all totals above it count that. */
  join(job: JobRecord): void {
    joinUnder(this, job)
    if (job.isTurn) this.family.turns++
  }

  /** A job that was started waits again. */
  rejoin(job: JobRecord): void {
    rejoinUnder(this, job.cost)
    if (job.isTurn) this.family.turns++
  }

  /** A job that waited has ended without a start. */
  leave(job: JobRecord): void {
    leaveUnder(this, job.cost)
    if (job.isTurn) this.family.turns--
  }

  /** The bucket leaves the totals above it, with all that waits and runs in it. */
  withdraw(): void {
    const { bucket, family } = this
    this.total.queue.drop(this)
    family.turns -= bucket.turns ?? 0
    family.aside.delete(this)
    for (const total of totalsAbove(this)) {
      total.bucket.waiting -= bucket.waiting
      total.running -= bucket.placesTaken
      if (bucket.isDeparting) total.isDeparting = false
    }
    bucket.member = undefined
  }

  /** All totals above the bucket count what waits and runs in it. */
  settle(): void {
    const { bucket, family } = this
    family.turns += bucket.turns ?? 0
    for (const total of totalsAbove(this)) {
      total.bucket.waiting += bucket.waiting
      total.running += bucket.placesTaken
      if (bucket.isDeparting) total.isDeparting = true
    }
  }

  dueAt(now: number): number | undefined {
    const { bucket } = this
    if (bucket.jobs === 0 || bucket.paused) return undefined
    if (this.lacksHandler || bucket.isDeparting) return Number.POSITIVE_INFINITY
    const due = nextDeparture(bucket, this.since)
    if (bucket.usage === undefined || due > now) return due
    // Another job may be first by now, or the period of a calendar another.
    const later = nextDeparture(bucket, now)
    return later > now ? later : due
  }

  get frozenUntil(): number {
    return this.bucket.frozenUntil
  }

  get waiting(): number {
    return this.bucket.waiting
  }

  /** Whether a total above it has more than a pace. */
  get hasParts(): boolean {
    for (const { bucket } of totalsAbove(this)) if (hasParts(bucket.limit)) return true
    return false
  }

  headAt(at: number): JobRecord {
    // A total that is frozen is asked at the end of its freeze, which may be before a retry is ready.
    return this.bucket.headAt(at) ?? this.bucket.headAt(Number.POSITIVE_INFINITY)
  }
}

/** A total in memory: it lives as long as something lives below it, or something of it is to be remembered. */
export class MemoryTotal extends Total {
  declare parent: MemoryTotal | undefined
  /** Live buckets and totals directly below it. */
  children = 0
  /** Its place among those without children, by the time at which they may be forgotten. */
  readonly idle: IdleTotal = { handle: -1, total: this }
  #family: Family | undefined

  /** All that share a limit with it. */
  get family(): Family {
    if (this.parent !== undefined) return this.parent.family
    this.#family ??= new Family(this)
    return this.#family
  }
}

export interface IdleTotal extends Due {
  readonly total: MemoryTotal
}

/**
 * The buckets below one outermost total. At any time one of them stands for all in the agenda: the one that is chosen to depart next, or
 * while none can go, any of those that will.
 */
export class Family implements Due {
  /** Its place among the families whose turns may have to pass by jobs that lack a handler. */
  handle = -1
  readonly outermost: MemoryTotal
  representative: MemoryBucket | undefined
  /** Turns that wait below it. */
  turns = 0
  /** Those that could go but for a handler, the longest first. */
  readonly aside = new Set<Member>()

  constructor(outermost: MemoryTotal) {
    this.outermost = outermost
  }

  /** Chooses the bucket that departs next; undefined: none departs now. */
  choose(now: number): MemoryBucket | undefined {
    return bucketOf(nextUnder(this.outermost, now))
  }

  /**
   * The bucket that stands for the family until the next departure is chosen, and from when on one may depart; undefined: none can before
   * something changes.
   */
  expect(now: number): { readonly bucket: MemoryBucket; readonly due: number } | undefined {
    const expected = expectedUnder(this.outermost, now)
    const { due } = expected
    const bucket = bucketOf(expected) ?? firstBelow(this.outermost)?.bucket
    return due === Number.POSITIVE_INFINITY || bucket === undefined ? undefined : { bucket, due }
  }
}

function bucketOf({ bucket }: NextUnder): MemoryBucket | undefined {
  return (bucket as Member | undefined)?.bucket
}

function firstBelow(total: Total): Member | undefined {
  let child: Child | undefined = total
  while (child instanceof Total) child = child.queue.next ?? child.queue.nextLater
  return child as Member | undefined
}

/**
 * Until when the tag of a child without work is kept: until virtual time has passed it, or all are equal again. When that is, depends on
 * what the others do.
 */
export function tagUntil(child: Member | MemoryTotal, now: number): number {
  const total = child instanceof MemoryTotal ? child.parent : child.total
  if (total === undefined || child.standing !== 'away') return now
  if (total.bucket.next <= now) total.queue.rest()
  if (child.standing !== 'away') return now
  const passing = total.queue.usedUntil(child) * total.bucket.limit.interval
  return now + Math.max(TAG_ASKED, Math.min(passing, TAG_ASKED_BY))
}
