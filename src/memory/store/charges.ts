import type { Limit } from '../../core/limit.ts'
import * as usages from '../../core/usage.ts'
import type { Charge, JobRecord } from './job-record.ts'

/** Charges a start at `now` to every quota of the bucket, which were asked in the same tick. */
export function chargeStart(job: JobRecord, now: number): void {
  const { limit, usage } = job.bucket
  if (usage === undefined) return
  const charges = usages.chargesOf(limit, job)
  usages.tidy(limit, usage, now)
  usages.charge(limit, usage, charges, now)
  job.charge = { limit, charges, at: now, isOver: false }
}

/** The start that was charged happened at `at`. */
export function moveCharge({ bucket, charge }: JobRecord, at: number): void {
  const { limit, usage } = bucket
  if (charge === undefined || usage === undefined) return
  bringUp(charge, limit)
  bucket.forgetEnd()
  usages.giveBack(limit, usage, charge.charges, charge.at)
  usages.charge(limit, usage, charge.charges, at)
  charge.at = at
}

/** Counts what a start really used, instead of its estimate. Call it once for each start. */
export function settleCharge(job: JobRecord, amounts: usages.Costs): boolean {
  const { limit, usage } = job.bucket
  const charge = job.charge ?? uncharged(job, limit)
  if (charge === undefined || usage === undefined) return false
  bringUp(charge, limit)
  job.bucket.forgetEnd()
  charge.isOver = true
  for (const [unit, actual] of Object.entries(amounts)) {
    const index = limit.quotas.findIndex((quota) => quota.unit === unit)
    usages.settle(limit, usage, unit, charge.charges[index]!, actual, charge.at)
    charge.charges = charge.charges.map((units, at) => (limit.quotas[at]!.unit === unit ? actual : units))
  }
  return true
}

/** The charge of an attempt that started before its limit had quotas. A turn would not be known as released. */
function uncharged(job: JobRecord, limit: Limit): Charge | undefined {
  if (job.isTurn || job.departedAt === undefined) return undefined
  job.charge = { limit, charges: limit.quotas.map(() => 0), at: job.departedAt, isOver: false }
  return job.charge
}

/** The charge under a limit that has changed since: all quotas of a unit count the same, and a new unit has counted nothing. */
function bringUp(charge: Charge, limit: Limit): void {
  const { limit: before, charges } = charge
  if (before === limit) return
  charge.limit = limit
  charge.charges = limit.quotas.map(({ unit }) => {
    const index = before.quotas.findIndex((quota) => quota.unit === unit)
    return index === -1 ? 0 : charges[index]!
  })
}
