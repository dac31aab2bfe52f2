import type { Audit } from '../../conformance/history.ts'
import { projectionOf } from '../../core/bucket.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { type BucketView, isEnded, type JobView } from '../../core/job.ts'
import { formatLimit } from '../../core/limit.ts'
import type { Flow, LineJob, LineView, Recent } from '../../core/line-view.ts'
import { advance, type Projection } from '../../core/projection.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../../line/bucket-query.ts'
import { type JobFacts, MOST_NAMED, type WaitFacts } from '../../line/job-facts.ts'
import { viewOf } from './bucket-facts.ts'
import { listBuckets, tallyBuckets, type Walk } from './bucket-walk.ts'
import type { JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import type { WatchedBuckets } from './watched-buckets.ts'

/** Everything that can be read of a store; nothing here changes it. Times are microseconds, in views milliseconds. */
export class StoreViews {
  readonly #buckets: LiveBuckets
  readonly #jobs: JobLedger
  readonly #watched: WatchedBuckets

  constructor(buckets: LiveBuckets, jobs: JobLedger, watched: WatchedBuckets) {
    this.#buckets = buckets
    this.#jobs = jobs
    this.#watched = watched
  }

  job(id: string, now: number): JobView | undefined {
    return this.#jobs.get(id)?.view(now)
  }

  inspect(key: string, now: number): BucketView | undefined {
    const bucket = this.#buckets.get(key)
    return bucket && viewOf(bucket, now)
  }

  /** The keys of all live buckets. The walk ends although others come and go meanwhile. */
  *keys(): Generator<string> {
    // New ones come last. Without an end to it, a slow walk could follow their coming and going for ever.
    let left = this.#buckets.size
    for (const { key } of this.#buckets) {
      if (left-- === 0) return
      yield key
    }
  }

  /** Pauses now and then, so that a walk over a million buckets blocks nothing. @throws InvalidOptionsError */
  list(query: BucketQuery, now: number): Walk<BucketPage> {
    return listBuckets(this.#buckets, query, now)
  }

  /** Sums over all live buckets, for each group of keys; pauses as `list` does. */
  tally(groups: readonly TallyGroup[], now: number): Walk<BucketTally[]> {
    return tallyBuckets(this.#buckets, groups, now)
  }

  /** Recounts every job by state. */
  audit(): Audit {
    return this.#jobs.audit()
  }

  /** What holds a job; undefined for an unknown one. */
  facts(id: string, now: number): JobFacts | undefined {
    const job = this.#jobs.get(id)
    if (job === undefined) return undefined
    const { key, state, attempt, admittedAt, departedAt: startedAt, endedAt, error } = job
    const waits = state !== 'running' && !isEnded(state)
    const wait = waits ? waitFacts(job, now) : undefined
    return { now, id, key, state, attempt, admittedAt, startedAt, endedAt, error, wait }
  }

  /** The first `limit` jobs of a line; undefined for a bucket that is not live. */
  line(key: string, limit: number, now: number): LineView | undefined {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return undefined
    const jobs: LineJob[] = []
    for (const job of bucket.inOrder(now)) {
      if (jobs.length === limit) break
      jobs.push(lineJobOf(job))
    }
    return { key, total: bucket.jobs, jobs }
  }

  flow(now: number): Flow {
    const { admitted, rejected, started, ended } = this.#jobs
    return { at: now / MILLISECOND, admitted, rejected, departed: started, ended }
  }

  /** The last verdicts and departures of a bucket, collected from the first call until 30 s after the last. */
  recent(key: string, now: number): Recent {
    return this.#watched.recent(key, now)
  }
}

function lineJobOf({ id, cost, state, admittedAt, readyAt, isTurn }: JobRecord): LineJob {
  const isRetry = state === 'retrying'
  return {
    id,
    cost,
    state: isRetry ? 'retrying' : 'waiting',
    admittedAt: admittedAt / MILLISECOND,
    ...(isRetry && readyAt !== undefined && { readyAt: readyAt / MILLISECOND }),
    ...(isTurn && { isTurn }),
  }
}

function waitFacts(job: JobRecord, now: number): WaitFacts {
  const { bucket } = job
  const readyAt = job.state === 'retrying' ? job.readyAt : undefined
  const projection = projectionOf(bucket, now)
  const ids: string[] = []
  let [jobs, cost, together, needsHandler] = [0, 0, 0, job.isTurn !== true]
  let head: JobRecord | undefined
  for (const other of bucket.inOrder(now)) {
    head ??= other
    if (other === job) break
    if (ids.length < MOST_NAMED) ids.push(other.id)
    jobs++
    cost += other.cost
    needsHandler ||= other.isTurn !== true
    // Units that follow each other without a pause are counted at once, so that nothing is rounded between them.
    if (other.state === 'retrying' && other.readyAt !== undefined) {
      passBy(projection, bucket, together, other.readyAt)
      together = 0
    }
    together += other.cost
  }
  passBy(projection, bucket, together, readyAt)
  return {
    position: jobs + 1,
    ahead: { jobs, cost, ids },
    departsAt: projection.slot,
    limit: formatLimit(bucket.limit),
    next: bucket.next,
    frozenUntil: bucket.frozenUntil,
    paused: bucket.paused,
    readyAt,
    needsHandler,
    head: { isTurn: head?.isTurn === true, due: dueOf(bucket) },
  }
}

/** Projects the departure of jobs that follow each other, and then waits until the next one is ready. */
function passBy(
  projection: Projection,
  { limit }: MemoryBucket,
  together: number,
  readyAt: number | undefined,
) {
  advance(projection, limit, { cost: together })
  if (readyAt !== undefined) advance(projection, limit, { cost: 0, readyAt })
}

/** A job waits in it, so a bucket that is in a heap is in one of departures. */
function dueOf(bucket: MemoryBucket): number {
  return bucket.heap?.dueOf(bucket) ?? Number.POSITIVE_INFINITY
}
