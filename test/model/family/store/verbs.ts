// As the scripts in src/redis/verbs, for several buckets of a shard.
import { guardRun, noteActivity } from '../../store/lease.ts'
import { reschedule, rescheduleFrom } from '../../store/line.ts'
import type { Shard } from '../../store/shard.ts'
import { admit as admitTo, type Verdict } from '../../store/verbs/admit.ts'
import { type ClaimCall, elect, handOver, isOthers } from '../../store/verbs/claim.ts'
import { type FinishCall, finish as finishIn } from '../../store/verbs/finish.ts'
import { type GateAnswer, type GateCall, gate as gateOf } from '../../store/verbs/gate.ts'
import {
  changeRule,
  freeze as freezeBucket,
  hold as holdBucket,
  unfreeze as unfreezeBucket,
} from '../../store/verbs/hold.ts'
import { type Recovered, recoverFrom } from '../../store/verbs/recover.ts'
import { renew as renewIn, start as startIn } from '../../store/verbs/start.ts'
import { choose } from './choose.ts'
import type { Family } from './family.ts'
import type { Total } from './total.ts'

export interface HandedJob {
  readonly bucket: number
  readonly job: number
}

/** What the records of the shard say of the clock stands in each bucket here, and is noted in each. */
function inCall<Answer>(family: Family, note: (shard: Shard) => void, verb: () => Answer): Answer {
  for (const shard of family.shards) note(shard)
  family.begin()
  const answer = verb()
  family.end()
  return answer
}

export function admit(family: Family, bucket: number, job: number): Verdict {
  return inCall(
    family,
    () => undefined,
    () => {
      family.keep(family.places[bucket]!)
      const answer = admitTo(family.shards[bucket]!, job)
      const costliest = Math.max(...family.shards.map(({ meta }) => meta.costliest))
      for (const { meta } of family.shards) meta.costliest = costliest
      return answer
    },
  )
}

export function claim(
  family: Family,
  scheduler: number,
  stamp: (bucket: number) => ClaimCall['stamp'],
): HandedJob[] | undefined {
  return inCall(family, guardRun, () => {
    if (isOthers(family.shards[0]!, scheduler)) return undefined
    const handed: HandedJob[] = []
    const outermost = family.totals[0]!
    if (outermost.bucket.exists === 1 && outermost.bucket.due <= family.setup.lookAhead) {
      while (handOn(family, stamp, handed));
    }
    family.settleAll(true)
    family.forgetIdle()
    for (const shard of family.shards) elect(shard, scheduler, outermost.bucket.due)
    return handed
  })
}

/** Hands over the head of the bucket whose turn it is. */
function handOn(family: Family, stamp: (bucket: number) => ClaimCall['stamp'], handed: HandedJob[]): boolean {
  const chosen = choose(family, family.totals[0]!)
  if (chosen === undefined) return false
  family.onChoice?.(chosen)
  const bucket = family.places.indexOf(chosen)
  const jobs: number[] = []
  if (handOver(chosen.shard, stamp(bucket), jobs)) reschedule(chosen.shard)
  for (const job of jobs) handed.push({ bucket, job })
  return true
}

export function gate(family: Family, bucket: number, call: GateCall): GateAnswer {
  return inCall(family, guardRun, () => gateOf(family.shards[bucket]!, call))
}

export function start(family: Family, bucket: number, ...call: readonly [number, number, number]): boolean {
  return inCall(family, noteActivity, () => startIn(family.shards[bucket]!, ...call))
}

export function finish(family: Family, bucket: number, call: FinishCall): boolean {
  return inCall(family, noteActivity, () => finishIn(family.shards[bucket]!, call))
}

export function renew(family: Family, bucket: number, job: number, epoch: number): boolean {
  return inCall(family, noteActivity, () => renewIn(family.shards[bucket]!, job, epoch))
}

export function recover(family: Family): Recovered[] {
  return inCall(family, noteActivity, () => recoverFrom(family.shards))
}

/** What a bucket has of holds, and what a total. */
interface Hold<Answer> {
  /** Whether it begins what is held, if that is not there. */
  readonly begins: boolean
  readonly ofBucket: (shard: Shard) => Answer
  readonly ofTotal: (total: Total) => Answer
  readonly ofNone: Answer
}

/** @param held a bucket, by its place in the setup, or behind those a total */
function hold<Answer>(family: Family, held: number, { begins, ...change }: Hold<Answer>): Answer {
  return inCall(
    family,
    () => undefined,
    () => {
      const place = family.places[held]
      if (place !== undefined) {
        if (begins) family.keep(place)
        return change.ofBucket(place.shard)
      }
      const total = family.totals[held - family.places.length]!
      if (!begins && total.bucket.exists === 0) return change.ofNone
      family.keepAll(chainOf(total))
      return change.ofTotal(total)
    },
  )
}

export function freeze(family: Family, held: number, duration: number): void {
  hold(family, held, {
    begins: true,
    ofBucket: (shard) => freezeBucket(shard, duration),
    ofTotal: ({ bucket }) => {
      bucket.frozen = Math.max(bucket.frozen, duration)
    },
    ofNone: undefined,
  })
}

/** Returns whether there was a freeze to lift. */
export function unfreeze(family: Family, held: number): boolean {
  return hold(family, held, {
    begins: false,
    ofBucket: unfreezeBucket,
    ofTotal: ({ bucket, ends }) => {
      const isFrozen = bucket.frozen > 0
      if (isFrozen) bucket.frozen = ends.never
      return isFrozen
    },
    ofNone: false,
  })
}

export function pause(family: Family, held: number, verb: 'pause' | 'resume'): void {
  hold(family, held, {
    begins: verb === 'pause',
    ofBucket: (shard) => holdBucket(shard, verb),
    ofTotal: ({ bucket }) => {
      bucket.paused = verb === 'pause' ? 1 : 0
    },
    ofNone: undefined,
  })
}

/**
 * The next limit is in force. A total follows with the buckets below it, of which each departs anew by what its own limit says, or by
 * itself, where it has none.
 */
export function changeLimit(family: Family, held: number): void {
  inCall(
    family,
    () => undefined,
    () => {
      const place = family.places[held]
      if (place !== undefined) return changeRule(place.shard)
      const total = family.totals[held - family.places.length]!
      total.bucket.book += 1
      if (total.bucket.exists === 0 || family.has('family-limit-kept')) return
      total.changeLimit(family.has('family-limit-forgets-start'))
      family.keepAll(chainOf(total))
      for (const { shard, totals } of family.places) {
        if (shard.bucket.exists === 0 || !totals.includes(total)) continue
        family.keepAll(totals)
        rescheduleFrom(shard, shard.handed.count > 0 ? shard.bucket.from : shard.ends.never)
      }
    },
  )
}

/** The total, and those above it. */
function chainOf(total: Total): Total[] {
  return total.parent === undefined ? [total] : [total, ...chainOf(total.parent)]
}
