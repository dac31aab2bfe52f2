import type { Audit } from '../../conformance/history.ts'
import type { BucketView } from '../../core/bucket-view.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { FamilyView } from '../../core/family-view.ts'
import { isEnded, type JobView } from '../../core/job.ts'
import { formatLimit } from '../../core/limit-format.ts'
import type { Flow, LineJob, LineView, Recent } from '../../core/line-view.ts'
import type { BucketPage, BucketQuery, BucketTally, TallyGroup } from '../../line/bucket-query.ts'
import type { FamilyPage, FamilyQuery } from '../../line/family-query.ts'
import type { JobFacts, WaitFacts } from '../../line/job-facts.ts'
import { viewOf } from './bucket-facts.ts'
import { auditJobs, listBuckets, tallyBuckets, type Walk } from './bucket-walk.ts'
import { familyViewOf } from './family-facts.ts'
import { listFamilies } from './family-walk.ts'
import type { JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import { aheadOf } from './jobs-ahead.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { underTotals } from './totals-ahead.ts'
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

  job(id: string, now: number, key?: string): JobView | undefined {
    return this.#jobs.find(id, key)?.view(now)
  }

  inspect(key: string, now: number): BucketView | undefined {
    const bucket = this.#buckets.get(key)
    return bucket && viewOf(bucket, now)
  }

  family(path: string, now: number): FamilyView | undefined {
    const total = this.#buckets.families.get(path)
    return total && familyViewOf(total, now)
  }

  /** Pauses as `list` does. @throws InvalidOptionsError */
  listFamilies(query: FamilyQuery, now: number): Walk<FamilyPage> {
    return listFamilies(this.#buckets.families, query, now)
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

  /** The paths of all live totals; ends as `keys` does. */
  *paths(): Generator<string> {
    for (const { path } of this.#buckets.families.each()) yield path
  }

  /** Pauses now and then, so that a walk over a million buckets blocks nothing. @throws InvalidOptionsError */
  list(query: BucketQuery, now: number): Walk<BucketPage> {
    return listBuckets(this.#buckets, query, now)
  }

  /** Sums over all live buckets, for each group of keys; pauses as `list` does. */
  tally(groups: readonly TallyGroup[], now: number): Walk<BucketTally[]> {
    return tallyBuckets(this.#buckets, groups, now)
  }

  /** Recounts jobs by state; pauses as `list` does. */
  audit(): Walk<Audit> {
    return auditJobs(this.#buckets, this.#jobs)
  }

  /** What holds a job; undefined for an unknown one. */
  facts(id: string, now: number, ofKey?: string): JobFacts | undefined {
    const job = this.#jobs.find(id, ofKey)
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

function lineJobOf({ id, cost, costs, state, admittedAt, readyAt, isTurn }: JobRecord): LineJob {
  const isRetry = state === 'retrying'
  return {
    id,
    cost,
    ...(costs && { costs }),
    state: isRetry ? 'retrying' : 'waiting',
    admittedAt: admittedAt / MILLISECOND,
    ...(isRetry && readyAt !== undefined && { readyAt: readyAt / MILLISECOND }),
    ...(isTurn && { isTurn }),
  }
}

function waitFacts(job: JobRecord, now: number): WaitFacts {
  const { bucket } = job
  const { jobs, cost, ids, needsHandler, head, departsAt, parts } = aheadOf(job, now)
  return {
    position: jobs + 1,
    ahead: { jobs, cost, ids },
    departsAt,
    parts,
    limit: formatLimit(bucket.limit),
    next: bucket.next,
    frozenUntil: bucket.frozenUntil,
    paused: bucket.paused,
    readyAt: job.state === 'retrying' ? job.readyAt : undefined,
    needsHandler,
    head: { isTurn: head?.isTurn === true, due: dueOf(bucket) },
    under: underTotals(bucket, job, cost, departsAt, now),
  }
}

/** A job waits in it, so a bucket that is in a heap is in one of departures. */
function dueOf(bucket: MemoryBucket): number {
  return bucket.heap?.dueOf(bucket) ?? Number.POSITIVE_INFINITY
}
