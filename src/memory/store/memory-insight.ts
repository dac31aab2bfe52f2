import { projectionOf } from '../../core/bucket.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { type Admission, isEnded } from '../../core/job.ts'
import { formatLimit } from '../../core/limit.ts'
import type { Flow, LineJob, LineView, Recent } from '../../core/line-view.ts'
import { advance, type Projection } from '../../core/projection.ts'
import { type JobFacts, MOST_NAMED, type WaitFacts } from '../../line/job-facts.ts'
import type { JobLedger } from './job-ledger.ts'
import type { JobRecord } from './job-record.ts'
import type { LiveBuckets } from './live-buckets.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { WatchedBuckets } from './watched-buckets.ts'

/** What can be seen of the lines of one process beyond their views. */
export class MemoryInsight {
  readonly #buckets: LiveBuckets
  readonly #jobs: JobLedger
  readonly #watched = new WatchedBuckets()
  #rejected = 0

  constructor(buckets: LiveBuckets, jobs: JobLedger) {
    this.#buckets = buckets
    this.#jobs = jobs
  }

  facts(id: string, now: number): JobFacts | undefined {
    const job = this.#jobs.get(id)
    if (job === undefined) return undefined
    const { key, state, attempt, admittedAt, departedAt: startedAt, endedAt, error } = job
    const waits = state !== 'running' && !isEnded(state)
    const wait = waits ? waitFacts(job, now) : undefined
    return { now, id, key, state, attempt, admittedAt, startedAt, endedAt, error, wait }
  }

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
    const { admitted, started, ended } = this.#jobs
    return { at: now / MILLISECOND, admitted, rejected: this.#rejected, departed: started, ended }
  }

  recent(key: string, now: number): Recent {
    return this.#watched.recent(key, now)
  }

  noteVerdict(key: string, id: string | undefined, admission: Admission, now: number): void {
    if (!admission.accepted) this.#rejected++
    if (this.#watched.isAsleep(now) || (admission.accepted && admission.replayed)) return
    const { accepted, waiting } = admission
    const reason = accepted ? {} : { reason: admission.reason }
    const named = accepted ? admission.id : (id ?? '')
    this.#watched.noteVerdict(key, { at: now / MILLISECOND, id: named, accepted, ...reason, waiting }, now)
  }

  /** Of a start at `now`; before the bucket takes it for its last. */
  noteStart({ id, bucket }: JobRecord, now: number): void {
    if (!this.#watched.isAsleep(now)) this.#watched.noteStart(bucket, id, now)
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
  for (const guest of bucket.inOrder(now)) {
    head ??= guest
    if (guest === job) break
    if (ids.length < MOST_NAMED) ids.push(guest.id)
    jobs++
    cost += guest.cost
    needsHandler ||= guest.isTurn !== true
    // Units that follow each other without a pause are counted at once, so that nothing is rounded between them.
    if (guest.state === 'retrying' && guest.readyAt !== undefined) {
      passBy(projection, bucket, together, guest.readyAt)
      together = 0
    }
    together += guest.cost
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

/** Lets those depart who stand together, and waits for the one after them to be ready. */
function passBy(
  projection: Projection,
  { limit }: MemoryBucket,
  together: number,
  readyAt: number | undefined,
) {
  advance(projection, limit, { cost: together })
  if (readyAt !== undefined) advance(projection, limit, { cost: 0, readyAt })
}

/** Somebody waits in it, so a bucket that stands in a heap stands in one of departures. */
function dueOf(bucket: MemoryBucket): number {
  return bucket.heap?.dueOf(bucket) ?? Number.POSITIVE_INFINITY
}
