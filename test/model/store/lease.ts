// As src/redis/scripts/lib/lease.lua and loss.lua. A lease is kept here as its end, and not as that minus what was added to all.
import { isHeld, isIdle } from './leave.ts'
import { RETRY, type Shard } from './shard.ts'
import { shiftTimes } from './times.ts'
import { allowForLoss } from './usage.ts'

/** More than any limit admits. */
export const ANY_COST = 100

/** Notes a call of a scheduler or worker: after a silence, every lease is extended by the length of the silence. */
export function noteActivity(shard: Shard, grace?: number): void {
  const { meta, setup, bucket } = shard
  const { silence, leastPassing, heardEach } = setup.durations
  const gap = -meta.heardAt
  if (grace !== undefined || gap > silence || gap < 0) {
    const lift = gap > silence && grace === undefined ? gap - leastPassing : gap + (grace ?? 0)
    if (!shard.has('leases-not-lifted'))
      for (const job of shard.jobs) shiftTimes(job, ['lease'], -lift, shard.ends)
    if (gap < 0) {
      shiftTimes(bucket, ['frozen'], -gap, shard.ends)
      for (const job of shard.jobs.filter(({ kind }) => kind === RETRY))
        shiftTimes(job, ['readyAt', 'floor'], -gap, shard.ends)
      meta.isRewinding = 1
      for (const name of ['lostAt', 'quarantine', 'stepAt'] as const) meta[name] = Math.min(meta[name], 0)
    }
  }
  const isFarDue = bucket.due >= silence && bucket.due < shard.ends.far
  if (gap > silence && isFarDue) meta.isRewinding = 1
  if (gap < 0 || gap > heardEach) meta.heardAt = 0
  if (!isIdle(shard)) allowForLoss(shard)
}

/** Notices a restart or failover, and that the shard has lost everything. */
export function guardRun(shard: Shard): void {
  const { meta, setup } = shard
  const isLate = shard.has('no-quarantine')
  if (meta.hasName === 0 && !isLate) noteLoss(shard, ANY_COST)
  if (meta.isKnownRun === 1) {
    noteActivity(shard)
    return
  }
  const costliest = shard.has('quarantine-of-one') ? 1 : Math.max(1, meta.costliest)
  if (!isLate && meta.isKnownRun === 0) noteLoss(shard, costliest)
  if (meta.isKnownRun === 0) for (const job of shard.jobs) if (isHeld(job)) job.isUnsure = 1
  noteActivity(shard, meta.isKnownRun === 0 ? setup.durations.grace : undefined)
  meta.isKnownRun = 1
}

export function noteLoss(shard: Shard, cost: number): void {
  const { meta, ends } = shard
  meta.lostCost = meta.lostAt === ends.never ? cost : Math.max(cost, meta.lostCost)
  meta.lostAt = 0
  if (!isIdle(shard)) allowForLoss(shard)
}

export function noteStep({ meta, ends }: Shard, by: number, reporter: number): void {
  const isReported = meta.stepAt !== ends.never && (meta.stepTellers & (1 << reporter)) === 0
  meta.stepBy = isReported ? Math.max(meta.stepBy, by) : meta.stepBy + by
  meta.stepTellers = isReported ? meta.stepTellers | (1 << reporter) : 1 << reporter
  meta.stepAt = 0
}
