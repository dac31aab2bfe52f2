import type { Setup } from '../setup.ts'
import { isEnded } from '../store/leave.ts'
import {
  ABSENT,
  EXPIRED,
  GRANTED,
  HANDED,
  NO_ONE,
  RETRYING,
  RUNNING,
  type Shard,
  WAITING,
} from '../store/shard.ts'
import { quotasOf } from '../store/usage.ts'

/** What is so long ago that no step can tell it apart. */
export interface Bounds {
  readonly oldest: number
  readonly counted: number
  /** What ended to count before is as if it had never counted. */
  readonly latestEnd: number
  readonly countsTokens: boolean
  readonly isPlain: boolean
}

export function longestWindow({ limits }: Setup): number {
  return Math.max(0, ...limits.flatMap((limit) => quotasOf(limit)).map(({ window }) => window + 1))
}

export function boundsOf(setup: Setup): Bounds {
  const { limits, jobs, clockStep, durations } = setup
  const slowest = Math.max(...limits.map(({ interval }) => interval))
  const largest = Math.max(...jobs.map(({ cost }) => cost))
  const tolerance = Math.max(...limits.map((limit) => limit.tolerance))
  const oldest = -(slowest * largest + tolerance + clockStep + durations.farthest + 1)
  return {
    oldest,
    counted: oldest - longestWindow(setup),
    latestEnd: -(tolerance + clockStep),
    countsTokens: limits.flatMap((limit) => quotasOf(limit)).some(({ each }) => each !== undefined),
    isPlain: largest === 1,
  }
}

/** Gives one form to what a store holds. */
export function settleForm(
  shard: Shard,
  { oldest, counted, latestEnd, countsTokens, isPlain }: Bounds,
): void {
  const { ends, setup, bucket, meta, jobs } = shard
  shard.settle(oldest, counted)
  for (const use of shard.use.quotas) use.drop(latestEnd)
  if (bucket.due <= setup.lookAhead) bucket.due = ends.never
  if (meta.stepAt === ends.never) Object.assign(meta, { stepBy: 0, stepTellers: 0 })
  if (meta.lostAt === ends.never) meta.lostCost = 0
  if (meta.leaderUntil <= 0) Object.assign(meta, { leader: 0, leaderUntil: ends.never })
  let isLeased = false
  for (const job of jobs) {
    const { state } = job
    if (state !== RUNNING || !countsTokens) job.departedAt = ends.never
    if (state !== RUNNING) Object.assign(job, { isSettled: 0, charged: 0 })
    if (state !== RUNNING && state !== GRANTED) job.isMoved = 0
    isLeased ||= job.lease !== ends.far
    if (job.lease < -setup.durations.lease - setup.durations.silence - 2)
      job.lease = -setup.durations.lease - setup.durations.silence - 2
    job.attempt = 0
    if (state !== HANDED && state !== GRANTED) job.isUnsure = 0
    const isOver = isEnded(job)
    if (job.expiry < 0) job.expiry = 0
    if (job.deadline < oldest) job.deadline = oldest
    if (state !== GRANTED) {
      job.slot = ends.never
      job.isOnGrid = 0
    }
    if (state !== GRANTED && state !== RETRYING && !isOver) job.worker = NO_ONE
    if (state === WAITING || state === RUNNING || state === ABSENT) {
      job.floor = ends.never
      job.readyAt = ends.never
    }
    if (isOver) {
      job.kind = 0
      job.floor = ends.never
      job.readyAt = ends.never
      job.fence = 0
      job.crashes = 0
      job.deadline = ends.far
      if (state !== EXPIRED) job.worker = NO_ONE
      if (state !== EXPIRED && setup.keep >= jobs.length) job.endedAt = ends.never
    }
  }
  if (!isLeased && meta.heardAt < 0) meta.heardAt = 0
  if (setup.limits.length === 1 && bucket.from <= bucket.next) bucket.from = ends.never
  if (bucket.next === ends.never && bucket.lastStart === ends.never && isPlain) {
    bucket.lastCost = 0
    bucket.startedCost = 0
  }
}
