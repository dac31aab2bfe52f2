import { z } from '@hono/zod-openapi'
import { HOLD_REASONS, type JobExplanation } from '../core/explanation-view.ts'
import { BUCKET_STATES, type BucketView, DURABILITIES, JOB_STATES, type JobView } from '../core/job.ts'
import type { LineView, Recent } from '../core/line-view.ts'
import {
  BASE_ORIGINS,
  type LocalRuleView,
  type RuleBookView,
  type RulePreview,
  type RuleView,
} from '../core/rule-view.ts'
import { REJECT_REASONS } from '../core/verdict.ts'
import type { BucketPage } from '../line/bucket-query.ts'
import { SCOPES, type Session } from './wire.ts'

const time = z.number().openapi({ description: 'Milliseconds since the epoch.' })
const units = z.number().openapi({ description: 'Cost units.' })

export const jobSchema = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    state: z.enum(JOB_STATES),
    cost: z.number(),
    costs: z
      .record(z.string(), z.number())
      .optional()
      .openapi({ description: 'What it counts in quotas of other units, where it says so.' }),
    data: z.unknown().optional().openapi({ description: 'Only for tokens with the scope admin.' }),
    attempt: z.number(),
    attempts: z.number(),
    admittedAt: time,
    position: z.number().optional(),
    deadlineAt: time.optional(),
    departedAt: time.optional(),
    endedAt: time.optional(),
    result: z.unknown().optional(),
    error: z.string().optional(),
  })
  .openapi('Job') satisfies z.ZodType<Omit<JobView, 'data'>>

export const bucketSchema = z
  .strictObject({
    key: z.string(),
    pattern: z.string(),
    limit: z.string(),
    state: z.enum(BUCKET_STATES),
    waiting: z.number(),
    capacity: z.number(),
    fill: z.number(),
    jobs: z.number(),
    retrying: z.number(),
    running: z.number(),
    nextDepartureAt: time.optional(),
    oldestWaitMs: z.number(),
    waitingSince: time.optional(),
    frozenUntil: time.optional(),
    paused: z.boolean(),
    quotas: z
      .array(
        z.strictObject({
          quota: z.string().openapi({ example: '2000/day' }),
          used: z.number(),
          amount: z.number(),
          roomAt: time.optional(),
        }),
      )
      .optional()
      .openapi({
        description: 'What the quotas of the limit count; `roomAt` is when another job has room, if not now.',
      }),
    places: z
      .strictObject({ taken: z.number(), of: z.number() })
      .optional()
      .openapi({ description: 'How many may run at once, and do; only where the limit says so.' }),
    lastUsedAt: time.optional(),
    durability: z.enum(DURABILITIES),
  })
  .openapi('Bucket') satisfies z.ZodType<BucketView>

export const bucketPageSchema = z
  .strictObject({
    buckets: z.array(bucketSchema),
    total: z.number(),
    isAtLeast: z.literal(true).optional().openapi({ description: 'There may be more than `total`.' }),
    cursor: z.string().optional(),
  })
  .openapi('BucketPage') satisfies z.ZodType<BucketPage>

export const lineSchema = z
  .strictObject({
    key: z.string(),
    total: z.number().openapi({ description: 'All jobs of the bucket that have not started.' }),
    jobs: z.array(
      z.strictObject({
        id: z.string(),
        cost: units,
        state: z.enum(['handed', 'waiting', 'retrying']),
        admittedAt: time,
        readyAt: time.optional(),
        isTurn: z.literal(true).optional(),
      }),
    ),
  })
  .openapi('Line') satisfies z.ZodType<LineView>

export const recentSchema = z
  .strictObject({
    verdicts: z.array(
      z.strictObject({
        at: time,
        id: z.string(),
        accepted: z.boolean(),
        reason: z.enum(REJECT_REASONS).optional(),
        waiting: units,
      }),
    ),
    departures: z.array(
      z.strictObject({
        at: time,
        id: z.string(),
        gapMs: z.number().optional(),
        gapRatio: z.number().optional(),
      }),
    ),
  })
  .openapi('Recent') satisfies z.ZodType<Recent>

export const ruleSchema = z
  .strictObject({
    pattern: z.string(),
    limit: z.string().openapi({ example: '500, 100/s' }),
    origin: z.enum([...BASE_ORIGINS, 'override']),
    by: z.string().optional().openapi({ description: 'The person or process that set this limit.' }),
    at: time.optional(),
  })
  .openapi('Rule') satisfies z.ZodType<RuleView>

export const localRuleSchema = z
  .strictObject({
    pattern: z.string(),
    limit: z.string().openapi({ example: '20, 2/s' }),
    origin: z.literal('local'),
    by: z.string().optional(),
    at: time,
  })
  .openapi('LocalRule') satisfies z.ZodType<LocalRuleView>

/** A pattern that was unset by hand: what code, file and environment set for it is out of force. */
const unsetRuleSchema = z
  .strictObject({ pattern: z.string(), by: z.string().optional(), at: time.optional() })
  .openapi('UnsetRule')

/** The answer of `GET /v1/limits`. */
export const ruleBookSchema = z
  .strictObject({
    version: z.number().openapi({ description: 'Grows with every change of the rule book.' }),
    limits: z.array(ruleSchema),
    unset: z
      .array(unsetRuleSchema)
      .openapi({ description: 'Patterns that were unset by hand, until they are reset.' }),
    local: z.array(localRuleSchema).openapi({ description: 'Limits of this process alone.' }),
  })
  .openapi('Rules') satisfies z.ZodType<RuleBookView>

const standingSchema = z
  .strictObject({
    pattern: z.string(),
    limit: z.string(),
    fill: z.number().openapi({ description: 'Share of the capacity that is taken; may exceed 1.' }),
    drainMs: z
      .number()
      .openapi({ description: 'How long the waiting jobs take to depart, at the full rate.' }),
  })
  .openapi('PreviewedStanding')

export const previewSchema = z
  .strictObject({
    version: z
      .number()
      .openapi({ description: 'The version of the rule book that the change was compared with.' }),
    buckets: z.number().openapi({ description: 'Live buckets that the token may see.' }),
    affected: z.number().openapi({
      description: 'Buckets that another rule would govern, or whose rule would have another limit.',
    }),
    waiting: z.number().openapi({ description: 'Cost units that wait in the affected buckets.' }),
    overfull: z
      .number()
      .openapi({ description: 'Affected buckets that would hold more than their capacity.' }),
    drainMs: z
      .strictObject({ before: z.number(), after: z.number() })
      .openapi({ description: 'The longest drain time of the affected buckets.' }),
    ungoverned: z.number().openapi({ description: 'Affected buckets that would have no rule.' }),
    samples: z
      .array(
        z.strictObject({
          key: z.string(),
          waiting: z.number(),
          before: standingSchema,
          // `nullable` would combine it with another schema: two closed objects.
          after: z.union([standingSchema, z.null()]),
        }),
      )
      .max(20)
      .openapi({ description: 'The most affected first; `after` is null where no rule would be left.' }),
  })
  .openapi('RulePreview') satisfies z.ZodType<RulePreview>

export const explanationSchema = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    state: z.enum(JOB_STATES),
    position: z.number().optional().openapi({ description: '1 departs next; only while the job waits.' }),
    departsAt: time.optional(),
    isEstimate: z.literal(true).optional().openapi({ description: 'It may depart later than `departsAt`.' }),
    holds: z
      .array(
        z.strictObject({
          reason: z.enum(HOLD_REASONS),
          until: time.optional(),
          detail: z.string(),
        }),
      )
      .openapi({ description: 'What the job waits for, the longest wait first.' }),
    ahead: z
      .strictObject({
        jobs: z.number(),
        cost: units,
        ids: z.array(z.string()).openapi({ description: 'The first ten, in their order.' }),
      })
      .openapi({ description: 'The jobs that depart before it.' }),
    rule: ruleSchema.optional(),
    summary: z.string().openapi({
      example: 'Third in line of stripe/acct_42: departs in 2.3 s at 1/s, behind 2 jobs.',
    }),
    summaryWithoutTimes: z.string().openapi({
      description: 'The summary without the times, for a view that counts them down itself.',
      example: 'Third in line of stripe/acct_42: departs at 1/s, behind 2 jobs.',
    }),
  })
  .openapi('Explanation') satisfies z.ZodType<JobExplanation>

export const sessionSchema = z
  .strictObject({
    name: z
      .string()
      .openapi({ description: 'The name of the token; `anonymous` where the service has no tokens.' }),
    scopes: z.array(z.enum(SCOPES)),
    prefixes: z.array(z.string()).openapi({ description: 'Empty: every key.' }),
    backend: z.enum(['memory', 'redis']),
    shaper: z.string(),
    version: z.string(),
    durability: z.enum(DURABILITIES).optional(),
  })
  .openapi('Session') satisfies z.ZodType<Session>
