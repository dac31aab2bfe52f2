import type { Audit } from '../../conformance/history.ts'
import type { BucketView } from '../../core/bucket-view.ts'
import { isUnder } from '../../core/key.ts'
import { BucketOrder, encodeCursor, FirstPlaces, isAskedFor, readCursor } from '../../line/bucket-order.ts'
import {
  type BucketPage,
  type BucketQuery,
  type BucketTally,
  emptyTally,
  type TallyGroup,
} from '../../line/bucket-query.ts'
import { FactsAt, viewOf } from './bucket-facts.ts'
import type { JobLedger } from './job-ledger.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** Buckets between two pauses: about a millisecond. */
const SLICE = 2_000

/** A walk over buckets that pauses now and then. */
export type Walk<Result> = Generator<undefined, Result, void>

/** The page of a query; it holds no more places than the page has, however many buckets live. */
export function* listBuckets(buckets: LiveBuckets, query: BucketQuery, now: number): Walk<BucketPage> {
  const order = new BucketOrder(query.sort)
  const after = readCursor(query, order)
  const at = order.isOfNow ? (after?.at ?? now) : 0
  const [facts, factsThen] = [new FactsAt(now), new FactsAt(order.isOfNow ? at : now)]
  const first = new FirstPlaces(order, after, query.limit + 1)
  let total = 0
  for (const bucket of eachOf(buckets)) {
    if (bucket === undefined) yield
    else if (isAskedFor(facts.of(bucket), query)) {
      total++
      first.offer(order.valueOf(factsThen.of(bucket)), bucket.key)
    }
  }
  const places = first.places.slice(0, query.limit)
  const last = first.places.length > places.length ? places.at(-1) : undefined
  const seen = (after?.seen ?? 0) + places.length
  return {
    buckets: places.flatMap(({ key }) => viewIn(buckets, key, now)),
    total,
    ...(last !== undefined && { cursor: encodeCursor(order, { ...last, at, seen }) }),
  }
}

/** Sums for each group. */
export function* tallyBuckets(
  buckets: LiveBuckets,
  groups: readonly TallyGroup[],
  now: number,
): Walk<BucketTally[]> {
  const tallies = groups.map(emptyTally)
  for (const bucket of eachOf(buckets)) {
    if (bucket === undefined) yield
    else {
      for (const [index, heads] of groups.entries()) {
        if (heads.length === 0 || heads.some((head) => isUnder(bucket.key, head))) {
          add(tallies[index]!, bucket, now)
        }
      }
    }
  }
  return tallies
}

/** Counts the jobs that live by what each bucket has: exact where all buckets are of one slice, else a count while the line moves. */
export function* auditJobs(
  buckets: LiveBuckets,
  jobs: Pick<JobLedger, 'admitted' | 'handed' | 'ended'>,
): Walk<Audit> {
  const { admitted, handed, ended } = jobs
  let [waiting, running, retrying] = [0, 0, 0]
  for (const bucket of eachOf(buckets)) {
    if (bucket === undefined) yield
    else {
      waiting += bucket.lineLength
      running += bucket.running
      retrying += bucket.retrying
    }
  }
  return { admitted, waiting, handed, running, retrying, ended }
}

/** Undefined now and then, to rest. New ones come last: without an end, a slow walk could follow their coming for ever. */
function* eachOf(buckets: LiveBuckets): Generator<MemoryBucket | undefined> {
  let left = buckets.size
  let sinceRest = 0
  for (const bucket of buckets) {
    if (left-- === 0) return
    if (sinceRest++ === SLICE) {
      sinceRest = 1
      yield undefined
    }
    yield bucket
  }
}

/** Leaves out a bucket that was forgotten during the walk. */
function viewIn(buckets: LiveBuckets, key: string, now: number): BucketView[] {
  const bucket = buckets.get(key)
  return bucket === undefined ? [] : [viewOf(bucket, now)]
}

function add(tally: BucketTally, bucket: MemoryBucket, now: number): void {
  tally.buckets++
  tally.states[bucket.stateAt(now)]++
  tally.waiting += bucket.waiting
  tally.jobs += bucket.lineLength
  tally.retrying += bucket.retrying
  tally.running += bucket.running
}
