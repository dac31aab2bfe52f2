import type { Bucket } from '../../core/bucket.ts'
import { isSameWindow } from '../../core/quota.ts'
import { changeCounted, hasOver, sourceOf } from '../../core/remembered.ts'
import * as usages from '../../core/usage.ts'

/** How often the quotas by which a bucket counts have changed, and by which of the changes each came to be what it is; 0: by none. */
export interface LimitChanges {
  readonly count: number
  readonly quotas: readonly {
    /** Its unit was new: what ran before counts nothing. */
    readonly begun: number
    /** Its window was another: what ran before may stand elsewhere, or not at all. */
    readonly moved: number
  }[]
}

/** What counts starts in quotas: a bucket, or a total above it. */
export type Counter = Bucket & { changes?: LimitChanges }

/** What a start was charged in each quota by which its bucket counts, and the time at which it counts. */
export interface Charge {
  counted: usages.Quotas
  /** It came after so many changes of the bucket's limit. */
  after: number
  charges: number[]
  at: number
  /** It was settled, or the attempt has ended. */
  isOver: boolean
}

type Start = usages.Counted & { readonly isTurn?: true; readonly departedAt?: number | undefined }

/** Charges a start at `now` to every quota of the bucket, which were asked in the same tick; undefined: it has none. */
export function chargeStart(bucket: Counter, start: Start, now: number): Charge | undefined {
  const { limit, counted = limit, usage, changes } = bucket
  if (usage === undefined) return undefined
  const charges = usages.chargesOf(counted, start)
  usages.tidy(counted, usage, now)
  usages.charge(counted, usage, charges, now)
  noteTurn(bucket, start, now)
  return { counted, after: changes?.count ?? 0, charges, at: now, isOver: false }
}

/** The start that was charged happened at `at`. */
export function moveCharge(bucket: Counter, charge: Charge | undefined, start: Start, at: number): void {
  const { limit, counted = limit, usage } = bucket
  if (charge === undefined || usage === undefined) return
  bringUp(charge, bucket)
  forgetEnd(bucket)
  const changes = bucket.changes?.count ?? 0
  const stands = (units: number, index: number) => (charge.after >= movedAt(bucket, index) ? units : 0)
  const standing = charge.after === changes ? charge.charges : charge.charges.map(stands)
  usages.giveBack(counted, usage, standing, charge.at)
  usages.charge(counted, usage, charge.charges, at)
  charge.at = at
  charge.after = changes
  noteTurn(bucket, start, at)
}

/** A turn may be settled after it has ended. */
function noteTurn(bucket: Counter, { isTurn }: Start, at: number): void {
  const { counted = bucket.limit } = bucket
  if (isTurn && counted.quotas.some(({ unit }) => unit !== undefined)) bucket.lastTurn = at
}

/** Counts what a start really used, instead of its estimate. Call it once for each start. */
export function settleCharge(bucket: Counter, charge: Charge, amounts: usages.Costs): void {
  const { limit, counted = limit, usage = [] } = bucket
  bringUp(charge, bucket)
  forgetEnd(bucket)
  charge.isOver = true
  const stands = (index: number) => charge.after >= movedAt(bucket, index)
  for (const [unit, actual] of Object.entries(amounts)) {
    const index = counted.quotas.findIndex((quota) => quota.unit === unit)
    if (index === -1) continue
    usages.settle(counted, usage, unit, charge.charges[index]!, actual, charge.at, stands)
    charge.charges = charge.charges.map((units, at) => (counted.quotas[at]!.unit === unit ? actual : units))
  }
}

/** The charge of an attempt that started before its limit had quotas. A turn would not be known as released. */
export function uncharged(bucket: Counter, { isTurn, departedAt }: Start): Charge | undefined {
  const { limit, counted = limit, usage, changes } = bucket
  if (isTurn || departedAt === undefined || usage === undefined) return undefined
  const charges = counted.quotas.map(() => 0)
  return { counted, after: changes?.count ?? 0, charges, at: departedAt, isOver: false }
}

/** Forgets quotas that the bucket remembers, where they are over. To be called before a start is counted. */
export function forgetOver(bucket: Counter, now: number): void {
  const { limit, counted, usage } = bucket
  if (counted === undefined || !hasOver(counted, usage!, now)) return
  recount(bucket, now, () => changeCounted(bucket, limit, now))
}

/** Changes by which quotas the bucket counts, and notes in which of them earlier starts may count nothing, or elsewhere. */
export function recount(bucket: Counter, now: number, change: () => void): void {
  const { limit: old, counted: known = old, usage = [], changes } = bucket
  change()
  const { limit, counted = limit } = bucket
  const count = (changes?.count ?? 0) + 1
  const quotas = counted.quotas.map((quota) => {
    const source = sourceOf(known, usage, quota, now)
    if (source === undefined) return { begun: count, moved: count }
    const { begun, moved } = changes?.quotas[source] ?? { begun: 0, moved: 0 }
    return { begun, moved: isSameWindow(known.quotas[source]!, quota) ? moved : count }
  })
  if (quotas.length > 0 || known.quotas.length > 0) bucket.changes = { count, quotas }
}

/** The charge under a limit that has changed since: all quotas of a unit count the same, and a new count has counted nothing. */
function bringUp(charge: Charge, { limit, counted = limit, changes }: Counter): void {
  const { counted: before, charges } = charge
  if (changes === undefined || charge.after === changes.count) return
  charge.counted = counted
  charge.charges = counted.quotas.map(({ unit }, index) => {
    if (charge.after < changes.quotas[index]!.begun) return 0
    return charges[before.quotas.findIndex((quota) => quota.unit === unit)]!
  })
}

/** The change since which a start surely stands in that quota where it was counted. */
function movedAt({ changes }: Counter, index: number): number {
  return changes === undefined ? 0 : changes.quotas[index]!.moved
}

/** The usage was changed. */
function forgetEnd(bucket: Counter): void {
  if (bucket.end !== undefined) bucket.end = undefined
}
