import { z } from 'zod'
import { HOLD_REASONS, type JobExplanation } from '../core/explanation-view.ts'
import { type Admission, JOB_STATES, type Rejected } from '../core/job.ts'
import {
  BASE_ORIGINS,
  type LocalRuleView,
  type RulePreview,
  type RuleView,
  type UnsetRuleView,
} from '../core/rule-view.ts'
import type { BucketPage } from '../line/bucket-query.ts'
import type { EnqueueRequest } from '../shaper/options.ts'
import { type ApiProblemError, problemName, readProblem } from './api-problem.ts'

/** What a service answers; fields that are new to us are left alone, so that a newer service is understood. */
const viewReply = z.looseObject({
  key: z.string(),
  pattern: z.string().default(''),
  limit: z.string().default(''),
  state: z.enum(['idle', 'waiting', 'full', 'frozen', 'paused']),
  waiting: z.number(),
  capacity: z.number(),
  fill: z.number(),
  jobs: z.number().default(0),
  retrying: z.number().default(0),
  running: z.number().default(0),
  nextDepartureAt: z.number().optional(),
  oldestWaitMs: z.number().default(0),
  waitingSince: z.number().optional(),
  frozenUntil: z.number().optional(),
  paused: z.boolean().default(false),
  lastUsedAt: z.number().optional(),
  durability: z.enum(['memory', 'none', 'everysec', 'always']).default('none'),
})

export const pageReply: z.ZodType<BucketPage> = z.looseObject({
  buckets: z.array(viewReply),
  total: z.number(),
  isAtLeast: z.literal(true).optional(),
  cursor: z
    .string()
    .nullish()
    .transform((cursor) => cursor ?? undefined),
})

export const ruleReply = z.looseObject({
  pattern: z.string(),
  limit: z.string(),
  origin: z.enum([...BASE_ORIGINS, 'override']),
  by: z.string().optional(),
  at: z.number().optional(),
}) satisfies z.ZodType<RuleView>

export const localRuleReply: z.ZodType<LocalRuleView> = z.looseObject({
  pattern: z.string(),
  limit: z.string(),
  origin: z.literal('local'),
  by: z.string().optional(),
  at: z.number(),
})

const unsetRuleReply: z.ZodType<UnsetRuleView> = z.looseObject({
  pattern: z.string(),
  by: z.string().optional(),
  at: z.number().optional(),
})

/** The rules, and behind them the limits of the service's own process. */
export const rulesReply = z
  .looseObject({
    version: z.number().default(0),
    limits: z.array(ruleReply),
    unset: z.array(unsetRuleReply).default([]),
    local: z.array(localRuleReply).default([]),
  })
  .transform(
    ({ version, limits, unset, local }): RuleBookView => ({ version, limits: [...limits, ...local], unset }),
  )

/** The version of the rules, 0 where the service does not tell; its rules, and behind them those of its own process. */
export interface RuleBookView {
  readonly version: number
  readonly limits: readonly (RuleView | LocalRuleView)[]
  /** What was unset by hand. */
  readonly unset: readonly UnsetRuleView[]
}

const standingReply = z.looseObject({
  pattern: z.string(),
  limit: z.string(),
  fill: z.number(),
  drainMs: z.number(),
})

export const previewReply: z.ZodType<RulePreview> = z.looseObject({
  version: z.number(),
  buckets: z.number(),
  affected: z.number(),
  waiting: z.number(),
  overfull: z.number(),
  drainMs: z.looseObject({ before: z.number(), after: z.number() }),
  ungoverned: z.number(),
  samples: z.array(
    z.looseObject({
      key: z.string(),
      waiting: z.number(),
      before: standingReply,
      after: standingReply.nullable(),
    }),
  ),
})

export const explanationReply: z.ZodType<JobExplanation> = z.looseObject({
  id: z.string(),
  key: z.string(),
  state: z.enum(JOB_STATES),
  position: z.number().optional(),
  departsAt: z.number().optional(),
  holds: z.array(
    z.looseObject({ reason: z.enum(HOLD_REASONS), until: z.number().optional(), detail: z.string() }),
  ),
  ahead: z.looseObject({ jobs: z.number(), cost: z.number(), ids: z.array(z.string()) }),
  rule: ruleReply.optional(),
  summary: z.string(),
  /** Of an older service there is none. */
  summaryWithoutTimes: z.string().default(''),
})

const acceptedReply = z.object({
  status: z.literal(202),
  id: z.string(),
  key: z.string(),
  position: z.number(),
  departsAt: z.number(),
  waitMs: z.number(),
  waiting: z.number(),
  capacity: z.number(),
  replayed: z.literal(true).optional(),
})

const refusedReply = z.looseObject({
  status: z.number().min(400),
  type: z.string().default(''),
  /** Absent where coming back does not help. */
  retryAfterMs: z.number().nullish(),
  waiting: z.number().default(0),
  capacity: z.number().default(0),
  local: z.literal(true).optional(),
})

const bulkReply = z.looseObject({
  verdicts: z.array(z.union([acceptedReply, refusedReply])),
})

const REASONS: ReadonlyMap<string, Rejected['reason']> = new Map([
  ['queue-full', 'full'],
  ['deadline', 'deadline'],
  ['paused', 'paused'],
  ['too-costly', 'too-costly'],
])

/** A verdict for each request, in order; undefined when the answer holds something else. */
export function readVerdicts(
  body: unknown,
  requests: readonly EnqueueRequest<unknown>[],
): readonly (Admission | ApiProblemError)[] | undefined {
  const parsed = bulkReply.safeParse(body)
  if (!parsed.success || parsed.data.verdicts.length !== requests.length) return undefined
  return parsed.data.verdicts.map((verdict, index) =>
    'type' in verdict ? readRefused(verdict, requests[index]!.key) : pickAccepted(verdict),
  )
}

function pickAccepted(verdict: z.output<typeof acceptedReply>): Admission {
  const { id, key, position, departsAt, waitMs, waiting, capacity, replayed } = verdict
  return {
    accepted: true,
    id,
    key,
    position,
    departsAt,
    waitMs,
    waiting,
    capacity,
    ...(replayed && { replayed }),
  }
}

/** Turned away at the rope; or what nobody could admit. */
function readRefused(verdict: z.output<typeof refusedReply>, key: string): Admission | ApiProblemError {
  const { status, type, retryAfterMs, waiting, capacity, local } = verdict
  const reason = REASONS.get(problemName(type))
  if (reason === undefined) return readProblem({ status, body: verdict, hasToken: true })
  return {
    accepted: false,
    reason,
    key,
    retryAfterMs: retryAfterMs ?? Number.POSITIVE_INFINITY,
    waiting,
    capacity,
    ...(local && { local }),
  }
}
