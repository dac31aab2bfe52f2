import { z } from '@hono/zod-openapi'
import { HOLD_REASONS, type JobExplanation } from '../core/explanation-view.ts'
import { JOB_STATES } from '../core/job.ts'
import type { LineView, Recent } from '../core/line-view.ts'
import { peekOptionsSchema } from '../shaper/options.ts'
import { ruleSchema } from './limit-schemas.ts'

const time = z.number().openapi({ description: 'Milliseconds since the epoch.' })
const units = z.number().openapi({ description: 'Cost units.' })

export const explanationSchema: z.ZodType<JobExplanation> = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    state: z.enum(JOB_STATES),
    position: z.number().optional().openapi({ description: '1 departs next; only while it waits.' }),
    departsAt: time.optional(),
    holds: z
      .array(
        z.strictObject({
          reason: z.enum(HOLD_REASONS),
          until: time.optional(),
          detail: z.string(),
        }),
      )
      .openapi({ description: 'What must pass before it departs, the one that lasts longest first.' }),
    ahead: z
      .strictObject({
        jobs: z.number(),
        cost: units,
        ids: z.array(z.string()).openapi({ description: 'The first ten, in their order.' }),
      })
      .openapi({ description: 'Those who depart before it.' }),
    rule: ruleSchema.optional(),
    summary: z.string().openapi({
      example: 'Third in line of stripe/acct_42: departs in 2.3 s at 1/s, behind 2 jobs.',
    }),
    summaryWithoutTimes: z.string().openapi({
      description: 'The summary without the times that run down, for a view that counts them itself.',
      example: 'Third in line of stripe/acct_42: departs at 1/s, behind 2 jobs.',
    }),
  })
  .openapi('Explanation')

export const lineSchema: z.ZodType<LineView> = z
  .strictObject({
    key: z.string(),
    total: z.number().openapi({ description: 'Everyone who has not started.' }),
    guests: z.array(
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
  .openapi('Line')

export const recentSchema: z.ZodType<Recent> = z
  .strictObject({
    verdicts: z.array(
      z.strictObject({
        at: time,
        id: z.string(),
        accepted: z.boolean(),
        reason: z.enum(['full', 'deadline', 'paused', 'too-costly']).optional(),
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
  .openapi('Recent')

export const lineQuerySchema = peekOptionsSchema
