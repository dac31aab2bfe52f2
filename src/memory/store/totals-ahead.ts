import { isSteady } from '../../core/limit.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { waitAtMost } from '../../core/total-line.ts'
import { placesUnder } from '../../core/total-place.ts'
import { isAlone } from '../../core/total-verdict.ts'
import { type CountedJob, chargesOf, roomAt } from '../../core/usage.ts'
import type { TotalFacts, UnderTotals } from '../../line/job-facts.ts'
import { holdAt } from './bucket-facts.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/**
 * What the totals above a bucket have to do with a job of it; undefined where there is none.
 *
 * @param ahead units of its line that depart before it
 * @param own when its own limit lets it depart, of one that waits in the line; undefined of one that is to come
 */
export function underTotals(
  bucket: MemoryBucket,
  job: CountedJob,
  ahead: number,
  own: number | undefined,
  now: number,
): UnderTotals | undefined {
  const { member, limit, retries } = bucket
  if (member === undefined) return undefined
  const totals: TotalFacts[] = []
  for (const place of placesUnder(member, ahead, own === undefined ? 0 : job.cost, now)) {
    const { path, pattern, bucket: shared, running } = place.total
    const { usage } = shared
    const room = usage && roomAt(shared.limit, usage, chargesOf(shared.limit, job), place.departsAt)
    totals.push({
      path,
      pattern,
      limit: formatLimit(shared.limit),
      others: place.others,
      weight: place.weight,
      weights: place.weights,
      ahead: place.ahead,
      departsAt: place.departsAt,
      frozenUntil: shared.frozenUntil,
      paused: shared.paused,
      isFull: running >= shared.limit.concurrency,
      quota: room === undefined ? undefined : holdAt(shared.limit, usage!, job, place.departsAt, room),
    })
  }
  const isExact = isAlone(
    { bucket: member, limit, slot: bucket.next, hasRetries: retries !== undefined },
    now,
  )
  const isKnown = own !== undefined && retries === undefined && isSteady(limit)
  const atMost = isKnown
    ? waitAtMost(member, ahead + job.cost, own - now + limit.interval * job.cost, now)
    : undefined
  return { totals, isExact, waitAtMost: atMost }
}
