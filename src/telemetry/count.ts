import type { BucketState, BucketView } from '../core/bucket-view.ts'
import type { FamilyView } from '../core/family-view.ts'
import type { HoldReason } from '../core/hold.ts'

/** Sums over the live buckets of one pattern. */
export interface PatternCount {
  /** Cost units, summed over the buckets. */
  waiting: number
  capacity: number
  /** Fill of the fullest bucket. */
  fillMax: number
  /** Milliseconds. */
  oldestWaitMs: number
  /** Buckets in which jobs wait, by the part of the limit for which the next one waits; of buckets with a pace alone none is known. */
  readonly held: Held
  /** Only for a pattern whose buckets have quotas or places. */
  parts?: PartsCount
}

/** The same over the live totals of one pattern. */
export interface FamilyCount extends Omit<PatternCount, 'oldestWaitMs'> {
  /** How many live. */
  families: number
}

/** How much of the quotas and places of one pattern is used. */
export interface PartsCount {
  /** Of the quota of which most is used; above 1 after a settlement, or under a limit that was lowered. */
  quotaMax: number
  /** Places, summed over the buckets. */
  taken: number
  places: number
}

export const HOLDING_PARTS = ['pace', 'quota', 'places'] as const
export type HoldingPart = (typeof HOLDING_PARTS)[number]
type Held = Record<HoldingPart, number>

/** A freeze, a pause or a retry that backs off is no part of the limit. */
const PART_OF: Partial<Record<HoldReason, HoldingPart>> = { slot: 'pace', quota: 'quota', place: 'places' }

/** The result of one walk over all that lives. */
export interface Count {
  readonly patterns: Map<string, PatternCount>
  readonly states: Record<BucketState, number>
  readonly families: Map<string, FamilyCount>
}

/** The labels under which patterns are counted. */
export interface Labels {
  readonly ofBuckets: (pattern: string) => string
  readonly ofTotals: (pattern: string) => string
}

type Lived = Pick<BucketView, 'waiting' | 'capacity' | 'fill' | 'quotas' | 'places' | 'heldBy'>

export function emptyCount(): Count {
  return {
    patterns: new Map(),
    states: { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 },
    families: new Map(),
  }
}

export function addBucket({ patterns, states }: Count, bucket: BucketView, labels: Labels): void {
  states[bucket.state]++
  const label = labels.ofBuckets(bucket.pattern)
  const of = patterns.get(label) ?? { waiting: 0, capacity: 0, fillMax: 0, oldestWaitMs: 0, held: noneHeld() }
  patterns.set(label, of)
  of.oldestWaitMs = Math.max(of.oldestWaitMs, bucket.oldestWaitMs)
  add(of, bucket)
}

export function addFamily({ families }: Count, family: FamilyView, labels: Labels): void {
  const label = labels.ofTotals(family.pattern)
  const of = families.get(label) ?? { families: 0, waiting: 0, capacity: 0, fillMax: 0, held: noneHeld() }
  families.set(label, of)
  of.families++
  add(of, family)
}

function add(of: Omit<PatternCount, 'oldestWaitMs'>, one: Lived): void {
  of.waiting += one.waiting
  of.capacity += one.capacity
  of.fillMax = Math.max(of.fillMax, one.fill)
  const { quotas = [], places, heldBy } = one
  const part = heldBy && PART_OF[heldBy.reason]
  if (part !== undefined) of.held[part]++
  if (quotas.length === 0 && places === undefined) return
  of.parts ??= { quotaMax: 0, taken: 0, places: 0 }
  const { parts } = of
  parts.quotaMax = Math.max(parts.quotaMax, ...quotas.map(({ used, amount }) => used / amount))
  parts.taken += places?.taken ?? 0
  parts.places += places?.of ?? 0
}

function noneHeld(): Held {
  return { pace: 0, quota: 0, places: 0 }
}
