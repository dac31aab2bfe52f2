// As src/redis/verbs/settle.lua. An attempt has one epoch and one fence, so the epoch stands for the fence here.
import { start, startedBy } from '../grant.ts'
import { reschedule } from '../line.ts'
import { GRANTED, RUNNING, type Shard } from '../shard.ts'
import { settle as settleCharges } from '../usage.ts'

export interface SettleCall {
  readonly job: number
  readonly epoch: number
  /** When it started, where the store may not know it yet. */
  readonly startedAt?: number | undefined
  /** What the attempt really took. */
  readonly tokens: number
}

/** Returns whether that counts now in place of the estimate. */
export function settle(shard: Shard, { job, epoch, startedAt, tokens }: SettleCall): boolean {
  const record = shard.jobs[job]!
  const mayStart = record.state === GRANTED && startedAt !== undefined
  const isMeant = record.epoch === epoch || shard.has('settle-without-fence')
  const isNew = record.isSettled === 0 || shard.has('settled-twice')
  if (!isMeant || !isNew || !(record.state === RUNNING || mayStart)) return false
  if (record.state === GRANTED) {
    start(shard, job, startedBy(shard, startedAt!))
    record.expiry = shard.ends.far
  }
  settleCharges(shard, job, tokens)
  reschedule(shard)
  return true
}
