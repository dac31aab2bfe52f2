import type { WorkerJob } from '../../line/job.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import type { RuledBuckets } from '../rules/ruled-buckets.ts'
import { type Answer, list, number, oneOf, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { GRANTED_JOB, grantedJob } from './granted-job.ts'
import type { HandedJob } from './handed-job.ts'
import { reportAll } from './report-all.ts'

const jobReply = row({ id: text, epoch: number, earliest: number, latest: number, ...GRANTED_JOB })
const answerReply = oneOf({
  run: { interval: number, tolerance: number, pattern: text, jobs: rest(jobReply) },
  foreign: {},
  late: {},
})
const reply = list(row({ at: number, book: number, answers: rest(list(answerReply)) }))
const script = defineScript('follow', import.meta.url, reply)

/** The most requests in one call: each may be granted a job beside those that the call divides among them. */
export const MOST_FOLLOWED = 25

export interface FollowRequest {
  readonly key: string
  /** The last epoch of the jobs of the bucket that the worker knows; 0: it knows none. The answer names those behind it again. */
  readonly known: number
  /** How many more jobs it takes. */
  readonly most: number
}

/** The worker that asks. */
export interface Follower {
  readonly worker: string
  /** For how long the jobs belong to the worker if it does not renew. */
  readonly lease: number
  /** How far its clock may be ahead of that of the store and how far behind it, both together; microseconds. */
  readonly error: number
  /** By the clock of the store: later, the worker has given up, and nothing is granted. Absent: the worker does not know that clock yet. */
  readonly notAfter?: number
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
  /** 0: none may follow another. */
  readonly interval: number
  readonly tolerance: number
  readonly pattern: string
  readonly jobs: readonly FollowingJob[]
}

export interface FollowReply {
  readonly now: number
  /** One for each request; undefined: its bucket cannot be read, or the question came too late. */
  readonly answers: readonly (FollowAnswer | undefined)[]
}

/** waiting | retrying -> granted to this worker, which starts them in their order; each gets its slot with its start. */
export function followVerb(
  store: Store,
  rules: Pick<RedisRules, 'nameOf'>,
  buckets: Pick<RuledBuckets, 'noteVersion'>,
) {
  return async (
    shard: number,
    { worker, lease, error, notAfter }: Follower,
    requests: readonly FollowRequest[],
    now?: number,
  ): Promise<FollowReply> => {
    let storeTime = 0
    const follow = async (some: readonly FollowRequest[]) => {
      const values = some.flatMap(({ key, known, most }) => [key, known, most])
      const who = [rules.nameOf(shard) ?? '', worker, lease, error]
      const call = [now ?? '', notAfter ?? '', ...who, some.length, ...values]
      const { at, book, answers } = await store.run(script, shard, call)
      buckets.noteVersion(shard, book, book)
      storeTime = at
      return answers
    }
    const answers = await reportAll(requests, follow)
    return {
      now: storeTime,
      answers: answers.map((answer, index) => followAnswer(requests[index]!.key, answer)),
    }
  }
}

function followAnswer(key: string, answer: Answer<typeof answerReply>): FollowAnswer | undefined {
  if (answer.kind !== 'run') return undefined
  const { interval, tolerance, pattern, jobs } = answer
  return { interval, tolerance, pattern, jobs: jobs.map((job) => followingJob(key, job)) }
}

function followingJob(key: string, answer: Answer<typeof jobReply>): FollowingJob {
  const { id, epoch, earliest, latest } = answer
  return { handed: { id, epoch }, job: grantedJob({ name: id, key, crashes: 0 }, answer), earliest, latest }
}
