import { z } from '@hono/zod-openapi'
import { BASE_ORIGINS, type LocalRuleView, type RulePreview } from '../core/rule-view.ts'

const time = z.number().openapi({ description: 'Milliseconds since the epoch.' })

export const ruleSchema = z
  .strictObject({
    pattern: z.string(),
    limit: z.string().openapi({ example: '500, 100/s' }),
    origin: z.enum([...BASE_ORIGINS, 'override']),
    by: z.string().optional().openapi({ description: 'Who brought this limit, or set it.' }),
    at: time.optional(),
  })
  .openapi('Rule')

export const localRuleSchema: z.ZodType<LocalRuleView> = z
  .strictObject({
    pattern: z.string(),
    limit: z.string().openapi({ example: '20, 2/s' }),
    origin: z.literal('local'),
    by: z.string().optional(),
    at: time,
  })
  .openapi('LocalRule')

/** A pattern that was unset by hand: whatever the layers below say of it is out of force. */
const unsetRuleSchema = z
  .strictObject({ pattern: z.string(), by: z.string().optional(), at: time.optional() })
  .openapi('UnsetRule')

/** What `GET /v1/limits` answers. */
export const rulesSchema = z
  .strictObject({
    version: z.number().openapi({ description: 'Grows with every change of the rule book.' }),
    limits: z.array(ruleSchema),
    unset: z.array(unsetRuleSchema).openapi({ description: 'What was unset by hand, until it is reset.' }),
    local: z.array(localRuleSchema).openapi({ description: 'Limits of this process alone.' }),
  })
  .openapi('Rules')

const standingSchema = z
  .strictObject({
    pattern: z.string(),
    limit: z.string(),
    fill: z.number().openapi({ description: 'Share of the capacity that is taken; may exceed 1.' }),
    drainMs: z.number().openapi({ description: 'How long those who wait take to depart, at the full rate.' }),
  })
  .openapi('PreviewedStanding')

export const previewSchema: z.ZodType<RulePreview> = z
  .strictObject({
    version: z.number().openapi({ description: 'Of the rule book that the change was held against.' }),
    buckets: z.number().openapi({ description: 'Live buckets, of those that the token may see.' }),
    affected: z.number().openapi({
      description: 'Those that another rule would govern, or whose rule would have another limit.',
    }),
    waiting: z.number().openapi({ description: 'Cost units that wait in the affected ones.' }),
    overfull: z.number().openapi({ description: 'Affected ones that would be above their capacity.' }),
    drainMs: z
      .strictObject({ before: z.number(), after: z.number() })
      .openapi({ description: 'The longest of the affected ones.' }),
    ungoverned: z.number().openapi({ description: 'Affected ones that would have no rule.' }),
    samples: z
      .array(
        z.strictObject({
          key: z.string(),
          waiting: z.number(),
          before: standingSchema,
          // As `nullable` it would be put together with another: two closed objects.
          after: z.union([standingSchema, z.null()]),
        }),
      )
      .max(20)
      .openapi({ description: 'The most affected first; `after` is null where no rule would be left.' }),
  })
  .openapi('RulePreview')
