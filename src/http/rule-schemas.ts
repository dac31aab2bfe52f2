import { z } from '@hono/zod-openapi'
import {
  BASE_ORIGINS,
  type LocalRuleView,
  type RuleBookView,
  type RulePreview,
  type RuleView,
  type TotalsPreview,
} from '../core/rule-view.ts'

const time = z.number().openapi({ description: 'Milliseconds since the epoch.' })
const estimated = z.literal(true).optional().openapi({
  description:
    'The limit has quotas or places; what they count already, and how long handlers take, is not considered.',
})

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
    drainMs: z.number().openapi({
      description: 'How long the waiting jobs take to depart at least, by the rate and the quotas.',
    }),
    isEstimate: estimated,
  })
  .openapi('PreviewedStanding')

const drainSchema = z.strictObject({ before: z.number(), after: z.number(), isEstimate: estimated })
// `nullable` would combine it with another schema: two closed objects.
const standingOrNone = z.union([standingSchema, z.null()])

const totalsPreviewSchema = z
  .strictObject({
    families: z.number().openapi({
      description: 'Live families whose total would change, appear or disappear.',
    }),
    buckets: z.number().openapi({ description: 'Live buckets below them.' }),
    waiting: z.number().openapi({ description: 'Cost units that wait in those buckets.' }),
    overfull: z.number().openapi({ description: 'Families in which more waits than the total would allow.' }),
    drainMs: z
      .strictObject({
        before: z.number().nullable(),
        after: z.number().nullable(),
        isEstimate: estimated,
      })
      .openapi({
        description: 'The longest drain time of a family, by its total alone; null where there is none.',
      }),
    isPartial: z
      .literal(true)
      .optional()
      .openapi({ description: 'There are more than 50,000 such families; the others are not counted.' }),
    samples: z
      .array(
        z.strictObject({
          path: z.string().openapi({ example: 'stripe/' }),
          buckets: z.number(),
          waiting: z.number(),
          before: standingOrNone,
          after: standingOrNone,
        }),
      )
      .max(20)
      .openapi({
        description: 'The most affected first; `before` or `after` is null where there is no total.',
      }),
  })
  .openapi('TotalsPreview') satisfies z.ZodType<TotalsPreview>

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
    drainMs: drainSchema.openapi({ description: 'The longest drain time of the affected buckets.' }),
    ungoverned: z.number().openapi({ description: 'Affected buckets that would have no rule.' }),
    tooCostly: z
      .strictObject({ jobs: z.number(), looked: z.number() })
      .optional()
      .openapi({
        description:
          'Of the first 200 jobs of each sample: how many alone exceed the capacity or a quota that would apply, and how many were ' +
          'looked at. Absent: none of them.',
      }),
    samples: z
      .array(
        z.strictObject({
          key: z.string(),
          waiting: z.number(),
          before: standingSchema,
          after: standingOrNone,
        }),
      )
      .max(20)
      .openapi({ description: 'The most affected first; `after` is null where no rule would be left.' }),
    totals: totalsPreviewSchema.optional().openapi({
      description: 'The effect on families; only for a pattern that ends in a slash.',
    }),
  })
  .openapi('RulePreview') satisfies z.ZodType<RulePreview>
