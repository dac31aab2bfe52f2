import type { Context } from 'hono'
import type { Hold } from '../core/hold.ts'
import type { Accepted, Rejected } from '../core/job.ts'
import type { RuleView } from '../core/rule-view.ts'
import type { MeterReading } from '../meter/meter-reading.ts'
import { jsonResponse } from './middleware.ts'
import { Problem, type ProblemName } from './problem.ts'
import { rateLimitHeaders, retryAfterSeconds } from './ratelimit-headers.ts'
import {
  type PartsRead,
  policyRefusing,
  policyRefusingJob,
  quotaOfLine,
  quotaOfMeter,
  quotaOfTotal,
  type TotalRead,
} from './ratelimit-quotas.ts'
import type { HttpEnv } from './route.ts'

const REFUSALS = {
  full: 'queue-full',
  deadline: 'deadline',
  paused: 'paused',
  'too-costly': 'too-costly',
} as const satisfies Record<Rejected['reason'], ProblemName>

/** Rounds times up to whole milliseconds, so that no promised time is early. */
export function wholeTimes({ departsAt, waitMs }: Pick<Accepted, 'departsAt' | 'waitMs'>) {
  return { departsAt: Math.ceil(departsAt), waitMs: Math.ceil(waitMs) }
}

/** The body for an accepted job. */
export function acceptedBody(admission: Accepted) {
  const { id, key, position, waiting, capacity, isEstimate, uncounted } = admission
  const times = {
    ...wholeTimes(admission),
    ...(isEstimate && { isEstimate }),
    ...(uncounted && { uncounted: [...uncounted] }),
  }
  return { id, key, position, waiting, capacity, ...times }
}

/** What is read of the line of an accepted job beside the verdict. */
export interface AcceptedRead {
  readonly parts?: PartsRead | undefined
  /** Of the totals above its key. */
  readonly totals?: readonly { readonly total: RuleView; readonly read: TotalRead }[]
}

/** 202 with the location of the job and the room that is left. */
export function acceptedResponse(
  context: Context<HttpEnv>,
  admission: Accepted,
  rule: RuleView | undefined,
  cost: number,
  { parts, totals = [] }: AcceptedRead,
): Response {
  const above = totals.map(({ total, read }) => quotaOfTotal(total, read, admission))
  return jsonResponse(context, 202, acceptedBody(admission), {
    // Another first segment may use the same id.
    location: `/v1/jobs/${admission.id}?key=${encodeURIComponent(admission.key)}`,
    ...(rule && rateLimitHeaders(quotaOfLine(rule, admission, cost, parts), above)),
    ...(admission.replayed && { 'idempotent-replayed': 'true' }),
  })
}

/** What is read of the line of a refused job beside the verdict. */
export interface RefusalRead {
  readonly parts?: PartsRead | undefined
  /** What would let the job go last; of one that misses its deadline. */
  readonly heldBy?: Hold | undefined
  /** The other limits that count the job: of what is left of them nothing is read. */
  readonly others?: readonly RuleView[]
}

/** The problem for a refused job: 429 with the time to retry after, or 422 where a retry cannot succeed. */
export function refusal(
  rejected: Rejected,
  rule: RuleView | undefined,
  cost: number,
  { parts, heldBy, others = [] }: RefusalRead = {},
): Problem {
  const { reason, key, retryAfterMs, waiting, capacity, isEstimate, quota, at, local } = rejected
  const mayReturn = Number.isFinite(retryAfterMs)
  // A local limit is not the policy that applies to the key in every process.
  const violated = local ? undefined : rule
  const policy = violated && policyRefusingJob(violated, rejected, heldBy)
  const details = {
    detail: detailOf(rejected, cost),
    key,
    ...(mayReturn && { retryAfterMs }),
    waiting,
    capacity,
    ...(isEstimate && { isEstimate }),
    ...(quota !== undefined && { quota }),
    ...(at !== undefined && { at }),
    ...(local && { local }),
    ...(policy !== undefined && { 'violated-policies': [policy] }),
  }
  const headers = {
    ...(mayReturn && {
      'Retry-After': String(retryAfterSeconds(retryAfterMs)),
      ...(violated &&
        rateLimitHeaders(
          quotaOfLine(violated, rejected, cost, parts),
          others.map((other) => quotaOfTotal(other)),
        )),
    }),
  }
  return new Problem(REFUSALS[reason], details, headers)
}

function detailOf(rejected: Rejected, cost: number): string {
  const { reason, retryAfterMs, waiting, capacity, quota, at, local } = rejected
  const below = at === undefined ? '' : ` below ${at}`
  if (local) {
    return reason === 'too-costly'
      ? `the job costs ${cost} units, and the local limit of this process holds ${capacity}`
      : `the local limit of this process is reached: ${waiting} of ${capacity} cost units are taken, ` +
          `and the job needs ${cost}; there is room in ${retryAfterMs} ms`
  }
  switch (reason) {
    case 'full':
      return `${waiting} of ${capacity} cost units are waiting${below}, and the job needs ${cost}; there is room in ${retryAfterMs} ms`
    case 'deadline':
      return `the job would depart after its deadline; a job enqueued in ${retryAfterMs} ms would not`
    case 'paused':
      return `${at ?? 'the bucket'} is paused, and is full or cannot promise a deadline (${waiting} of ${capacity} cost units are waiting)`
    case 'too-costly':
      return quota === undefined
        ? `the job costs ${cost} units, and ${at ?? 'the line'} holds ${capacity}`
        : `the job alone counts more than the whole quota of ${quota}${at === undefined ? '' : ` of ${at}`}`
  }
}

/** The problem for a refused fill: 429 with the time to retry after, or 422 where a retry cannot succeed. */
export function refusedFill(key: string, reading: MeterReading, amount: number): Problem {
  const { level, space, capacity, blocked, retryAfterMs, refusedBy } = reading
  const mayReturn = Number.isFinite(retryAfterMs)
  const details = {
    detail: mayReturn ? overLimitDetail(reading, amount) : neverFitsDetail(reading, amount),
    key,
    ...(mayReturn && { retryAfterMs }),
    level,
    space,
    capacity,
    blocked,
    ...(refusedBy && { quota: refusedBy.quota }),
    'violated-policies': [policyRefusing(reading)],
  }
  const headers = {
    ...(mayReturn && { 'Retry-After': String(retryAfterSeconds(retryAfterMs)) }),
    ...rateLimitHeaders(quotaOfMeter(reading)),
  }
  return new Problem(mayReturn ? 'over-limit' : 'never-fits', details, headers)
}

function neverFitsDetail({ capacity, refusedBy }: MeterReading, amount: number): string {
  return refusedBy === undefined
    ? `the amount is ${amount}, and the meter holds ${capacity}`
    : `the fill counts more than the whole quota of ${refusedBy.quota}`
}

function overLimitDetail(reading: MeterReading, amount: number): string {
  const { blocked, space, capacity, retryAfterMs, refusedBy } = reading
  if (refusedBy !== undefined) return `the quota of ${refusedBy.quota} has room for it in ${retryAfterMs} ms`
  return blocked
    ? `the meter was full and is blocked; there is room for ${amount} in ${retryAfterMs} ms`
    : `${space} of ${capacity} units are free, and the fill needs ${amount}; there is room in ${retryAfterMs} ms`
}
