import type { Bucket } from '../../core/bucket.ts'
import type { Due, DueHeap } from '../../core/due-heap.ts'
import type { SegmentUse } from '../../core/heap-use.ts'
import { hasParts, type Limit } from '../../core/limit.ts'
import type { LineEnd } from '../../core/line-end.ts'
import type { Rule } from '../../core/rule-book.ts'
import { createUsage, type Quotas, type Usage } from '../../core/usage.ts'
import type { NamedUnits } from '../../core/waiting-charges.ts'
import type { LimitChanges } from './charges.ts'
import type { Member } from './family.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** What a live bucket counts and has, but for its jobs: those are added by MemoryBucket, in the same object. */
export abstract class BucketNumbers implements Bucket, Due {
  readonly key: string
  pattern: string
  limit: Limit
  next = Number.NEGATIVE_INFINITY
  carry = 0
  frozenUntil = 0
  paused = false
  waiting = 0
  warmth = 0
  lastCost = 0
  lastWarmth = 0
  lastStart = Number.NEGATIVE_INFINITY
  startedCost = 0
  startedWarmth = 0
  usage: Usage | undefined
  running = 0
  /** Turns that hold a place. A bucket without them has no field for them; nor for what follows. */
  declare held?: number
  declare named?: NamedUnits | undefined
  declare end?: LineEnd | undefined
  declare changes?: LimitChanges
  /** Turns that wait. */
  declare turns?: number
  /** Its place below the totals above it. */
  declare member?: Member | undefined
  declare counted?: Quotas | undefined
  declare lastTurn?: number | undefined
  /** The caller of the turn that departed last has not continued yet: until then no other job departs. */
  isDeparting = false
  /** The heap of the agenda that it is in, and its handle there. */
  heap: DueHeap<MemoryBucket> | undefined = undefined
  handle = -1
  /** Whether the store keeps it, and whether a rule still governs it. */
  isKept = false
  isGoverned = true
  /** What its first segment uses of the heap; from when the store keeps it until its last job is forgotten. */
  use: SegmentUse | undefined = undefined

  constructor(key: string, rule: Rule) {
    this.key = key
    this.pattern = rule.pattern
    this.limit = rule.limit
    this.usage = rule.limit.quotas.length === 0 ? undefined : createUsage(rule.limit)
  }

  /** To be called when the usage was changed. */
  forgetEnd(): void {
    if (this.end !== undefined) this.end = undefined
  }

  /** Whether its limit, or that of a total above it, has more than a pace. */
  get hasParts(): boolean {
    return hasParts(this.limit) || this.member?.hasParts === true
  }

  /** How many of the places of the limit are taken. */
  get placesTaken(): number {
    return this.running + (this.held ?? 0)
  }
}
