import type { Context } from 'hono'
import type { Accepted, Rejected } from '../core/job.ts'
import type { RuleView } from '../core/rule-view.ts'
import type { MeterReading } from '../meter/meter.ts'
import { dressedJson } from './guards.ts'
import { Problem, type ProblemName } from './problem.ts'
import {
  policyName,
  quotaOfLine,
  quotaOfMeter,
  rateLimitHeaders,
  retryAfterSeconds,
} from './ratelimit-headers.ts'
import type { HttpEnv } from './route.ts'

const REFUSALS = {
  full: 'queue-full',
  deadline: 'deadline',
  paused: 'paused',
  'too-costly': 'too-costly',
} as const satisfies Record<Rejected['reason'], ProblemName>

/** What a producer is told of a job that was accepted. Times are rounded up: a promise is not broken by a fraction. */
export function acceptedBody({ id, key, position, waiting, capacity, departsAt, waitMs }: Accepted) {
  return { id, key, position, waiting, capacity, departsAt: Math.ceil(departsAt), waitMs: Math.ceil(waitMs) }
}

/** 202, where the job is, and how much room is left. */
export function acceptedResponse(
  context: Context<HttpEnv>,
  admission: Accepted,
  rule: RuleView | undefined,
  cost: number,
): Response {
  return dressedJson(context, 202, acceptedBody(admission), {
    location: `/v1/jobs/${admission.id}`,
    ...(rule && rateLimitHeaders(quotaOfLine(rule, admission, cost))),
    ...(admission.replayed && { 'idempotent-replayed': 'true' }),
  })
}

/** What a refusal says: 429 and when to come back, or 422 where coming back does not help. */
export function refusal(rejected: Rejected, rule: RuleView | undefined, cost: number): Problem {
  const { reason, key, retryAfterMs, waiting, capacity, local } = rejected
  const mayReturn = Number.isFinite(retryAfterMs)
  // The policy that it violated is not the one that the key has everywhere.
  const violated = local ? undefined : rule
  const details = {
    detail: detailOf(rejected, cost),
    key,
    ...(mayReturn && { retryAfterMs }),
    waiting,
    capacity,
    ...(local && { local }),
    ...(violated && { 'violated-policies': [policyName(violated.pattern)] }),
  }
  const headers = {
    ...(mayReturn && {
      'Retry-After': String(retryAfterSeconds(retryAfterMs)),
      ...(violated && rateLimitHeaders(quotaOfLine(violated, rejected, cost))),
    }),
  }
  return new Problem(REFUSALS[reason], details, headers)
}

function detailOf({ reason, retryAfterMs, waiting, capacity, local }: Rejected, cost: number): string {
  if (local) {
    return reason === 'too-costly'
      ? `the job costs ${cost} units, and this process may admit no more than ${capacity} at once`
      : `this process may admit no more for now: ${waiting} of ${capacity} cost units of its own limit are taken, ` +
          `and the job needs ${cost}; there is room in ${retryAfterMs} ms`
  }
  switch (reason) {
    case 'full':
      return `${waiting} of ${capacity} cost units wait, and the job needs ${cost}; there is room in ${retryAfterMs} ms`
    case 'deadline':
      return `the job would depart after its deadline; in ${retryAfterMs} ms it would not`
    case 'paused':
      return `the bucket is paused: it is full, or can promise no deadline (${waiting} of ${capacity} cost units wait)`
    case 'too-costly':
      return `the job costs ${cost} units, and the line holds ${capacity}`
  }
}

/** What a fill is told that did not go in: 429 and when to come back, or 422 where coming back does not help. */
export function refusedFill(key: string, reading: MeterReading, amount: number): Problem {
  const { pattern, level, space, capacity, blocked, retryAfterMs } = reading
  const mayReturn = Number.isFinite(retryAfterMs)
  const details = {
    detail: mayReturn
      ? overLimitDetail(reading, amount)
      : `the amount is ${amount}, and the bucket holds ${capacity}`,
    key,
    ...(mayReturn && { retryAfterMs }),
    level,
    space,
    capacity,
    blocked,
    'violated-policies': [policyName(pattern)],
  }
  const headers = {
    ...(mayReturn && { 'Retry-After': String(retryAfterSeconds(retryAfterMs)) }),
    ...rateLimitHeaders(quotaOfMeter(reading)),
  }
  return new Problem(mayReturn ? 'over-limit' : 'never-fits', details, headers)
}

function overLimitDetail({ blocked, space, capacity, retryAfterMs }: MeterReading, amount: number): string {
  return blocked
    ? `the bucket was full and is blocked; there is room for ${amount} in ${retryAfterMs} ms`
    : `${space} of ${capacity} units are free, and the fill needs ${amount}; there is room in ${retryAfterMs} ms`
}
