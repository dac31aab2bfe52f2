// As src/redis/verbs/admit.lua, verdict.lua and join.lua in scripts/lib.
import { noteActivity } from '../lease.ts'
import { firstExpiry } from '../leave.ts'
import { hasLine, reschedule, returned, unitsOf, waitingUnits } from '../line.ts'
import { changeLimit, nextSlot } from '../pace.ts'
import { ABSENT, LINE, RETRY, type Shard, WAITING } from '../shard.ts'
import { allowForLoss, rememberMost } from '../usage.ts'

export type Verdict = 'yes' | 'again' | 'full' | 'deadline' | 'paused'

/** When a new job would depart: behind all that wait, but for retries that are not ready by then. */
function departureBehind(shard: Shard): number {
  const { bucket, limit, line } = shard
  const slot = nextSlot(shard)
  const after = (units: number) => slot + limit.interval * units
  const retries = returned(shard, RETRY)
  const gaps = line.count + 1 - bucket.linesTurn
  let units = waitingUnits(shard) - bucket.grantedCost - unitsOf(shard, retries)
  let departsAt = after(units)
  for (const retry of retries.slice(0, gaps)) {
    const { readyAt } = shard.jobs[retry]!
    if (readyAt > departsAt) departsAt = after(units)
    if (readyAt > departsAt) break
    units += shard.cost(retry)
  }
  return after(units)
}

/** What the script would answer a new request, by what it reads now. */
export function judge(shard: Shard, job: number): Verdict {
  const { bucket, limit, ends, setup } = shard
  const { cost, deadline = ends.far } = setup.jobs[job]!
  const isLate = departureBehind(shard) > deadline
  if (waitingUnits(shard) + cost > limit.capacity) return bucket.paused === 1 ? 'paused' : 'full'
  if (isLate) return 'deadline'
  const refusal = shard.member?.refuses(cost)
  if (refusal !== undefined) return refusal
  return bucket.paused === 1 && deadline !== ends.far ? 'paused' : 'yes'
}

/** @param known the verdict, where it was made before and not in this step */
export function admit(shard: Shard, job: number, known?: Verdict): Verdict {
  const { bucket, meta, setup, ends } = shard
  const record = shard.jobs[job]!
  if (meta.heardAt > 0) noteActivity(shard)
  if (record.state !== ABSENT) return 'again'
  let isMoved = false
  if (bucket.exists === 0) bucket.limit = meta.book
  else if (changeLimit(shard)) {
    bucket.from = ends.never
    isMoved = true
  }
  const verdict = known ?? judge(shard, job)
  if (verdict !== 'yes') return verdict
  bucket.exists = 1
  allowForLoss(shard)
  if (!hasLine(shard)) {
    isMoved = true
    if (shard.handed.count === 0) bucket.from = 0
  }
  const { cost, deadline } = setup.jobs[job]!
  Object.assign(record, { state: WAITING, kind: LINE })
  if (shard.has('epochs-from-one')) record.epoch = 0
  if (deadline !== undefined) {
    record.deadline = deadline
    record.expiry = firstExpiry(shard, deadline)
  }
  shard.line.push(job)
  meta.costliest = Math.max(meta.costliest, cost)
  rememberMost(shard, job)
  shard.member?.join(job)
  if (isMoved) reschedule(shard)
  return 'yes'
}
