import type { Limit } from '../../core/limit.ts'
import type { Quota } from '../../core/quota.ts'
import * as usages from '../../core/usage.ts'
import type { Charge, JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Charges a start at `now` to every quota of the bucket, which were asked in the same tick. */
export function chargeStart(job: JobRecord, now: number): void {
  const { limit, usage, counts } = job.bucket
  if (usage === undefined) return
  const charges = usages.chargesOf(limit, job)
  usages.tidy(limit, usage, now)
  usages.charge(limit, usage, charges, now)
  job.charge = { limit, counts, charges, at: now, isOver: false }
  noteTurn(job, now)
}

/** The start that was charged happened at `at`. */
export function moveCharge(job: JobRecord, at: number): void {
  const { bucket, charge } = job
  const { limit, usage } = bucket
  if (charge === undefined || usage === undefined) return
  bringUp(charge, bucket)
  bucket.forgetEnd()
  usages.giveBack(limit, usage, charge.charges, charge.at)
  usages.charge(limit, usage, charge.charges, at)
  charge.at = at
  noteTurn(job, at)
}

/** A turn may be settled after it has ended. */
function noteTurn({ isTurn, bucket }: JobRecord, at: number): void {
  if (isTurn && bucket.limit.quotas.some(({ unit }) => unit !== undefined)) bucket.lastTurn = at
}

/** Counts what a start really used, instead of its estimate. Call it once for each start. */
export function settleCharge(job: JobRecord, amounts: usages.Costs): boolean {
  const { limit, usage } = job.bucket
  const charge = job.charge ?? uncharged(job)
  if (charge === undefined || usage === undefined) return false
  bringUp(charge, job.bucket)
  job.bucket.forgetEnd()
  charge.isOver = true
  for (const [unit, actual] of Object.entries(amounts)) {
    const index = limit.quotas.findIndex((quota) => quota.unit === unit)
    usages.settle(limit, usage, unit, charge.charges[index]!, actual, charge.at)
    charge.charges = charge.charges.map((units, at) => (limit.quotas[at]!.unit === unit ? actual : units))
  }
  return true
}

/** Begins a count of each unit that the bucket's limit does not count yet. To be called before it becomes `after`. */
export function beginCounts(bucket: MemoryBucket, after: Limit): void {
  const { limit, counts } = bucket
  const isNew = ({ unit }: Quota) => limit.quotas.every((quota) => quota.unit !== unit)
  if (!after.quotas.some(isNew)) return
  bucket.counts = new Map(
    after.quotas.map((quota) => [quota.unit, isNew(quota) ? Symbol(quota.unit) : counts?.get(quota.unit)]),
  )
}

/** The charge of an attempt that started before its limit had quotas. A turn would not be known as released. */
function uncharged(job: JobRecord): Charge | undefined {
  const { limit, counts } = job.bucket
  if (job.isTurn || job.departedAt === undefined) return undefined
  job.charge = { limit, counts, charges: limit.quotas.map(() => 0), at: job.departedAt, isOver: false }
  return job.charge
}

/** The charge under a limit that has changed since: all quotas of a unit count the same, and a new count has counted nothing. */
function bringUp(charge: Charge, { limit, counts }: MemoryBucket): void {
  const { limit: before, counts: known, charges } = charge
  if (before === limit && known === counts) return
  charge.limit = limit
  charge.counts = counts
  charge.charges = limit.quotas.map(({ unit }) => {
    if (known?.get(unit) !== counts?.get(unit)) return 0
    return charges[before.quotas.findIndex((quota) => quota.unit === unit)]!
  })
}
