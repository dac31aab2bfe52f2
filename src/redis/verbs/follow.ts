import type { WorkerJob } from '../../line/job.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import type { RuledBuckets } from '../rules/ruled-buckets.ts'
import { type Answer, list, number, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { GRANTED_JOB, grantedJob } from './granted-job.ts'
import type { HandedJob } from './handed-job.ts'

const jobReply = row({ id: text, epoch: number, earliest: number, latest: number, ...GRANTED_JOB })
const reply = list(
  row({ at: number, book: number, interval: number, tolerance: number, pattern: text, jobs: rest(jobReply) }),
)
const script = defineScript('follow', import.meta.url, reply)

export interface FollowRequest {
  readonly key: string
  /** Names the worker that asks. */
  readonly worker: string
  /** For how long the jobs belong to the worker if it does not renew. */
  readonly lease: number
  /** The last epoch of the jobs of the bucket that the worker knows; 0: it knows none. The answer names those behind it again. */
  readonly known: number
  /** How many more jobs it takes. */
  readonly most: number
}

/** A job that a worker starts behind the one before it, without asking for its slot. */
export interface FollowingJob {
  readonly handed: HandedJob
  readonly job: WorkerJob
  /** It must not start before, whatever the pace says; 0: the pace alone decides. */
  readonly earliest: number
  readonly latest: number
}

/** The next jobs of a bucket, and the pace at which they start: microseconds from one to the next for each cost unit. */
export interface FollowAnswer {
  readonly now: number
  readonly interval: number
  readonly tolerance: number
  readonly pattern: string
  readonly jobs: readonly FollowingJob[]
}

/** waiting | retrying -> granted to this worker, which starts them in their order; each gets its slot with its start. */
export function followVerb(
  store: Store,
  rules: Pick<RedisRules, 'nameOf'>,
  buckets: Pick<RuledBuckets, 'noteVersion'>,
) {
  return async (shard: number, request: FollowRequest, now?: number): Promise<FollowAnswer> => {
    const { key, worker, lease, known, most } = request
    const call = [now ?? '', rules.nameOf(shard) ?? '', worker, lease, key, known, most]
    const { at, book, interval, tolerance, pattern, jobs } = await store.run(script, shard, call)
    buckets.noteVersion(shard, book, book)
    return { now: at, interval, tolerance, pattern, jobs: jobs.map((job) => followingJob(key, job)) }
  }
}

function followingJob(key: string, answer: Answer<typeof jobReply>): FollowingJob {
  const { id, epoch, earliest, latest } = answer
  return { handed: { id, epoch }, job: grantedJob({ name: id, key, crashes: 0 }, answer), earliest, latest }
}
