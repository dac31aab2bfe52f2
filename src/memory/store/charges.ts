import { isSameWindow } from '../../core/quota.ts'
import { type Counting, sourceOf } from '../../core/remembered.ts'
import * as usages from '../../core/usage.ts'
import type { Charge, JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Charges a start at `now` to every quota of the bucket, which were asked in the same tick. */
export function chargeStart(job: JobRecord, now: number): void {
  const { limit, counted = limit, usage, changes } = job.bucket
  if (usage === undefined) return
  const charges = usages.chargesOf(counted, job)
  usages.tidy(counted, usage, now)
  usages.charge(counted, usage, charges, now)
  job.charge = { counted, after: changes?.count ?? 0, charges, at: now, isOver: false }
  noteTurn(job, now)
}

/** The start that was charged happened at `at`. */
export function moveCharge(job: JobRecord, at: number): void {
  const { bucket, charge } = job
  const { limit, counted = limit, usage } = bucket
  if (charge === undefined || usage === undefined) return
  bringUp(charge, bucket)
  bucket.forgetEnd()
  const changes = bucket.changes?.count ?? 0
  const stands = (units: number, index: number) => (charge.after >= movedAt(bucket, index) ? units : 0)
  const standing = charge.after === changes ? charge.charges : charge.charges.map(stands)
  usages.giveBack(counted, usage, standing, charge.at)
  usages.charge(counted, usage, charge.charges, at)
  charge.at = at
  charge.after = changes
  noteTurn(job, at)
}

/** A turn may be settled after it has ended. */
function noteTurn({ isTurn, bucket }: JobRecord, at: number): void {
  const { counted = bucket.limit } = bucket
  if (isTurn && counted.quotas.some(({ unit }) => unit !== undefined)) bucket.lastTurn = at
}

/** Counts what a start really used, instead of its estimate. Call it once for each start. */
export function settleCharge(job: JobRecord, amounts: usages.Costs): boolean {
  const { limit, counted = limit, usage } = job.bucket
  const charge = job.charge ?? uncharged(job)
  if (charge === undefined || usage === undefined) return false
  bringUp(charge, job.bucket)
  job.bucket.forgetEnd()
  charge.isOver = true
  const stands = (index: number) => charge.after >= movedAt(job.bucket, index)
  for (const [unit, actual] of Object.entries(amounts)) {
    const index = counted.quotas.findIndex((quota) => quota.unit === unit)
    usages.settle(counted, usage, unit, charge.charges[index]!, actual, charge.at, stands)
    charge.charges = charge.charges.map((units, at) => (counted.quotas[at]!.unit === unit ? actual : units))
  }
  return true
}

/** Notes that the bucket counts by other quotas since `now`, in which earlier starts may count nothing, or elsewhere. */
export function noteChange(bucket: MemoryBucket, before: Counting, now: number): void {
  const { limit, counted = limit, changes } = bucket
  const { limit: old, counted: known = old, usage = [] } = before
  const count = (changes?.count ?? 0) + 1
  const quotas = counted.quotas.map((quota) => {
    const source = sourceOf(known, usage, quota, now)
    if (source === undefined) return { begun: count, moved: count }
    const { begun, moved } = changes?.quotas[source] ?? { begun: 0, moved: 0 }
    return { begun, moved: isSameWindow(known.quotas[source]!, quota) ? moved : count }
  })
  if (quotas.length > 0 || known.quotas.length > 0) bucket.changes = { count, quotas }
}

/** The charge of an attempt that started before its limit had quotas. A turn would not be known as released. */
function uncharged(job: JobRecord): Charge | undefined {
  const { limit, counted = limit, changes } = job.bucket
  if (job.isTurn || job.departedAt === undefined) return undefined
  const charges = counted.quotas.map(() => 0)
  job.charge = { counted, after: changes?.count ?? 0, charges, at: job.departedAt, isOver: false }
  return job.charge
}

/** The charge under a limit that has changed since: all quotas of a unit count the same, and a new count has counted nothing. */
function bringUp(charge: Charge, { limit, counted = limit, changes }: MemoryBucket): void {
  const { counted: before, charges } = charge
  if (changes === undefined || charge.after === changes.count) return
  charge.counted = counted
  charge.charges = counted.quotas.map(({ unit }, index) => {
    if (charge.after < changes.quotas[index]!.begun) return 0
    return charges[before.quotas.findIndex((quota) => quota.unit === unit)]!
  })
}

/** The change since which a start surely stands in that quota where it was counted. */
function movedAt({ changes }: MemoryBucket, index: number): number {
  return changes === undefined ? 0 : changes.quotas[index]!.moved
}
