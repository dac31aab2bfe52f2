import { z } from '@hono/zod-openapi'
import { BUCKET_STATES, type BucketView, DURABILITIES } from '../core/bucket-view.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { FamilyView } from '../core/family-view.ts'
import { HOLD_REASONS } from '../core/hold.ts'
import { JOB_STATES, type JobView } from '../core/job.ts'
import type { LineView, Recent } from '../core/line-view.ts'
import { REJECT_REASONS } from '../core/verdict.ts'
import type { BucketPage } from '../line/bucket-query.ts'
import type { FamilyPage } from '../line/family-query.ts'
import { ruleSchema } from './rule-schemas.ts'
import { SCOPES, type Session } from './wire.ts'

const time = z.number().openapi({ description: 'Milliseconds since the epoch.' })
const units = z.number().openapi({ description: 'Cost units.' })

const total = z.string()

const costs = z
  .record(z.string(), z.number())
  .optional()
  .openapi({ description: 'What it counts in quotas of other units, where it says so.' })

export const jobSchema = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    state: z.enum(JOB_STATES),
    cost: z.number(),
    costs,
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

export const holdSchema = z.strictObject({
  reason: z.enum(HOLD_REASONS),
  until: time.optional(),
  quota: z
    .string()
    .optional()
    .openapi({ description: 'The quota that holds it.', example: '90000 tokens/minute' }),
  total: z
    .string()
    .optional()
    .openapi({ description: 'The total that holds it, where its bucket does not.', example: 'stripe/' }),
  detail: z.string(),
})

const parts = {
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
  heldBy: holdSchema.optional().openapi({
    description: 'What holds the first job of its line; only where the limit has more than a pace.',
  }),
}

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
    total: total.optional().openapi({ description: 'The total right above it.', example: 'stripe/' }),
    nextDepartureAt: time.optional(),
    oldestWaitMs: z.number(),
    waitingSince: time.optional(),
    frozenUntil: time.optional(),
    paused: z.boolean(),
    ...parts,
    lastUsedAt: time.optional(),
    durability: z.enum(DURABILITIES),
  })
  .openapi('Bucket') satisfies z.ZodType<BucketView>

export const familySchema = z
  .strictObject({
    path: z.string().openapi({ description: 'How the keys of the family begin.', example: 'stripe/' }),
    total: total.optional().openapi({ description: 'The total right above it.' }),
    pattern: z.string(),
    limit: z.string(),
    state: z.enum(BUCKET_STATES),
    waiting: units.openapi({ description: 'Cost units that wait in all lines below it.' }),
    capacity: z.number(),
    fill: z.number(),
    running: z.number(),
    children: z.number().openapi({ description: 'Live buckets and live totals right below it.' }),
    nextDepartureAt: time.optional(),
    frozenUntil: time.optional(),
    paused: z.boolean(),
    ...parts,
    heldBy: holdSchema.optional().openapi({
      description:
        'What of this total holds the next job below it; absent where that may go now, or waits for its own limit or for a total above.',
    }),
  })
  .openapi('Family') satisfies z.ZodType<FamilyView>

export const familyPageSchema = z
  .strictObject({ families: z.array(familySchema), total: z.number(), cursor: z.string().optional() })
  .openapi('FamilyPage') satisfies z.ZodType<FamilyPage>

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
        costs,
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

export const explanationSchema = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    state: z.enum(JOB_STATES),
    position: z.number().optional().openapi({ description: '1 departs next; only while the job waits.' }),
    departsAt: time.optional(),
    isEstimate: z
      .literal(true)
      .optional()
      .openapi({ description: 'It may depart later or earlier than `departsAt`.' }),
    waitMsAtMost: z.number().optional().openapi({
      description:
        'The longest that it waits, as long as no further key begins to have jobs below its totals. Only below totals.',
    }),
    totals: z
      .array(
        z.strictObject({
          total,
          limit: z.string(),
          others: z.number().openapi({ description: 'Other children of the total with jobs that wait.' }),
          share: z
            .number()
            .openapi({ description: 'The part of the limit that is for this one, by weight.' }),
          turn: z
            .number()
            .openapi({ description: 'About which departure of the family it is; 1: the next.' }),
        }),
      )
      .optional()
      .openapi({ description: 'Its place below each total above its bucket, the innermost first.' }),
    holds: z.array(holdSchema).openapi({ description: 'What the job waits for, the longest wait first.' }),
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
