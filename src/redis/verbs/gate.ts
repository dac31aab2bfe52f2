import type { Pace, WorkerJob } from '../../line/job.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import type { RuledBuckets } from '../rules/ruled-buckets.ts'
import { idOfName } from '../scripts/job-id.ts'
import { type Answer, flag, list, number, oneOf, optional, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { GRANTED_JOB, grantedJob } from './granted-job.ts'
import type { HandedJob, RemovedJob } from './handed-job.ts'

const answerReply = oneOf({
  granted: {
    slot: number,
    startAt: number,
    latest: number,
    tolerance: number,
    key: text,
    ...GRANTED_JOB,
    pattern: text,
    lastStart: number,
    spacing: number,
    crashes: number,
    due: number,
    frozenUntil: number,
    runInterval: number,
    mayRun: flag,
    holdsPlace: optional(flag),
  },
  data: { bytes: number },
  wait: { until: number },
  returned: {},
  expired: { at: number, key: text, cost: number, attempt: number },
  stale: {},
  foreign: {},
})
const reply = list(row({ at: number, book: number, answers: rest(list(answerReply)) }))
const script = defineScript('gate', import.meta.url, reply)

export interface GateRequest extends HandedJob {
  /** Names the worker that asks. */
  readonly worker: string
  /** How long the answer may take: the slot is not before now + lead, and 250 ms away at most all the same. Microseconds. */
  readonly lead: number
  /** For how long the job belongs to the worker if it does not renew. */
  readonly lease: number
  /** The slot that was granted before and missed. */
  readonly missed?: number
  /** The data were fetched: the answer shall not carry them. */
  readonly hasData?: boolean
  /** How far its clock may be ahead of that of the store and how far behind it, both together; microseconds. */
  readonly error: number
}

export interface GateReply {
  readonly now: number
  readonly answers: readonly GateAnswer[]
}

export type GateAnswer =
  /**
   * May start from `startAt` on, `latest` at the last. No other job of the bucket is granted a slot before the start was
   * reported, so a late start breaks nothing; one later than `tolerance` moves the grid of slots. No total above tolerates less.
   */
  | {
      readonly kind: 'granted'
      readonly slot: number
      /** The slot of the grid that it would have had in time, by its own limit and all totals: before `startAt` where it came too late for it. */
      readonly due: number
      readonly startAt: number
      readonly latest: number
      readonly tolerance: number
      /** The bucket is frozen until then: no tolerance makes a start before it good. Absent: it is not frozen. */
      readonly frozenUntil: number | undefined
      /** The interval of a bucket whose jobs may follow each other; 0: each asks for its slot. */
      readonly runInterval: number
      /** Jobs wait that may follow this one. */
      readonly mayRun: boolean
      /** Of a turn whose limit has more than a pace: whether it holds a place of it from its start on. */
      readonly holdsPlace?: boolean
      readonly pace: Pace
      readonly job: WorkerJob
    }
  /** Too large to travel with a slot: nothing was reserved; to be fetched before the gate is asked again. */
  | { readonly kind: 'data'; readonly bytes: number }
  /** A job before it has not started; ask again at `until`. */
  | { readonly kind: 'wait'; readonly until: number }
  /** Its slot is far away: it stands at the head of its line again. */
  | { readonly kind: 'returned' }
  | { readonly kind: 'expired'; readonly job: RemovedJob }
  /** It is not this worker's, or not any more. */
  | { readonly kind: 'stale' }
  /** The job, its state or its bucket cannot be read: something else is stored under its name. */
  | { readonly kind: 'foreign' }

/** handed -> handed with a slot, or sent back. */
export function gateVerb(
  store: Store,
  rules: Pick<RedisRules, 'nameOf'>,
  buckets: Pick<RuledBuckets, 'noteVersion'>,
  keep: string,
) {
  return async (shard: number, requests: readonly GateRequest[], now?: number): Promise<GateReply> => {
    const values = requests.flatMap(({ id, epoch, worker, lead, lease, missed, hasData, error }) => [
      id,
      epoch,
      worker,
      lead,
      lease,
      missed ?? '',
      hasData ? '1' : '0',
      error,
    ])
    const known = rules.nameOf(shard) ?? ''
    const call = [now ?? '', keep, known, requests.length, ...values]
    const { at, book, answers } = await store.run(script, shard, call)
    buckets.noteVersion(shard, book, book)
    return { now: at, answers: answers.map((answer, index) => gateAnswer(requests[index]!.id, answer)) }
  }
}

function gateAnswer(name: string, answer: Answer<typeof answerReply>): GateAnswer {
  if (answer.kind === 'granted') {
    const { slot, due, startAt, latest, tolerance, frozenUntil, runInterval, mayRun, holdsPlace } = answer
    const { pattern, lastStart, spacing, key, crashes } = answer
    return {
      kind: 'granted',
      slot,
      due,
      startAt,
      latest,
      tolerance,
      frozenUntil: frozenUntil === 0 ? undefined : frozenUntil,
      runInterval,
      mayRun,
      ...(holdsPlace !== undefined && { holdsPlace }),
      pace: { pattern, lastStart, spacing },
      job: grantedJob({ name, key, crashes }, answer),
    }
  }
  if (answer.kind !== 'expired') return answer
  const { at, key, cost, attempt } = answer
  return { kind: 'expired', job: { id: idOfName(name), key, cost, attempt, at } }
}
