import { z } from '@hono/zod-openapi'
import { quote } from '../core/describe.ts'
import { checkKey, LONGEST_KEY } from '../core/key.ts'
import { LARGEST_CAPACITY } from '../core/limit.ts'
import { MOST_AT_ONCE, MOST_QUOTAS } from '../core/limit-parts.ts'
import { LARGEST_AMOUNT, LARGEST_COST } from '../core/quota-input.ts'
import { LARGEST_COUNT, SMALLEST_COUNT } from '../core/rate.ts'
import { toError } from '../core/thrown.ts'
import { parseCostsText } from '../line/costs-text.ts'
import { amountsSchema, costsSchema, MOST_UNITS } from '../line/settle.ts'
import { enqueueOptionsSchema, settleOptionsSchema } from '../shaper/options.ts'

/** Any JSON, including null; but the field must be there. */
const data = z
  .unknown()
  .refine((value) => value !== undefined, 'expected data, which may be any JSON, including null')
  .openapi({ description: 'Any JSON; the handler gets it.' })

const keyField = z
  .string()
  .superRefine((key, context) => {
    try {
      checkKey(key)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  })
  .openapi({
    minLength: 1,
    maxLength: LONGEST_KEY,
    description: `At most ${LONGEST_KEY} bytes of UTF-8, with no segment . or ..`,
  })

// The trace context comes in its own header.
const { id, cost, deadlineMs, attempts, backoff, timeoutMs } = enqueueOptionsSchema.shape
// A schema of another file may have been made before schemas could be described.
const costs = z.optional(costsSchema).openapi({
  type: 'object',
  additionalProperties: { type: 'integer', minimum: 1, maximum: LARGEST_COST },
  maxProperties: MOST_UNITS,
  description: 'What the job counts in quotas of other units.',
  example: { tokens: 1_200 },
})
const jobFields = { data, id, cost, costs, deadlineMs, attempts, backoff, timeoutMs }

/** Body of `POST /v1/buckets/{key}/jobs`. */
export const newJobSchema = z.strictObject(jobFields).openapi('NewJob')
export type NewJob = z.output<typeof newJobSchema>

/**
 * Body of `POST /v1/jobs`: as a whole, for the description; and as a list whose jobs are checked one by one.
 */
export function batchSchemas(most: number) {
  const jobSchema = z.strictObject({ key: keyField, ...jobFields }).openapi('NewJobOfBatch')
  const listOf = <Job extends z.ZodType>(job: Job) => z.strictObject({ jobs: z.array(job).min(1).max(most) })
  return { jobSchema, listSchema: listOf(z.unknown()), wholeSchema: listOf(jobSchema).openapi('NewJobs') }
}

/** Body of `POST /v1/jobs/{id}/settle`. */
export const settleSchema = z
  .strictObject({
    costs: amountsSchema
      .refine((costs) => Object.keys(costs).length > 0, 'expected an amount for a unit at least')
      .openapi({
        type: 'object',
        additionalProperties: { type: 'integer', minimum: 0, maximum: LARGEST_COST },
        minProperties: 1,
        maxProperties: MOST_UNITS,
        description: 'What the attempt really counts.',
        example: { tokens: 812 },
      }),
    fence: z.optional(settleOptionsSchema.shape.fence).openapi({
      description:
        'The fence of the start, which its handler knows, so that no other is settled instead. Default: the one that runs.',
    }),
    attempt: z.optional(settleOptionsSchema.shape.attempt).openapi({
      description:
        'The number of the attempt. After a freeze or a crash the same number is used again: such an attempt can be settled only with its fence. By default the number is not checked.',
    }),
  })
  .openapi('Settle')

const rateField = z.union(
  [
    z.string().max(200),
    z.strictObject({
      count: z.number().openapi({ minimum: SMALLEST_COUNT, maximum: LARGEST_COUNT }),
      per: z.string().max(200),
    }),
  ],
  { error: "expected the rate to be a text such as '10/s', or { count, per }" },
)

const quotaField = z.union(
  [
    z.string().max(200),
    z.strictObject({
      amount: z.number().openapi({ type: 'integer', minimum: 1, maximum: LARGEST_AMOUNT }),
      per: z.string().max(200),
      unit: z.string().max(200).optional(),
      each: z.number().optional().openapi({ type: 'integer', minimum: 1, maximum: LARGEST_COST }),
      in: z.string().max(200).optional(),
    }),
  ],
  { error: "expected a quota to be a text such as '2000/day', or { amount, per }" },
)

/** Body of `PUT /v1/limits/{pattern}`. */
export const newLimitSchema = z
  .strictObject({
    limit: z.union(
      [
        z.string().max(200),
        z.strictObject({
          capacity: z.number().openapi({ type: 'integer', minimum: 1, maximum: LARGEST_CAPACITY }),
          rate: rateField,
          tolerance: z
            .union([z.string().max(200), z.literal(0)], {
              error: "expected the tolerance to be a duration such as '2ms', or 0 for strict spacing",
            })
            .optional(),
          warmUp: z.string().max(200).optional(),
          coldRate: rateField.optional(),
          quotas: z.array(quotaField).max(MOST_QUOTAS).optional(),
          concurrency: z.number().optional().openapi({ type: 'integer', minimum: 1, maximum: MOST_AT_ONCE }),
        }),
      ],
      { error: "expected limit to be a text such as '100, 10/s', or { capacity, rate }" },
    ),
  })
  .openapi('NewLimit', { example: { limit: '500, 100/s, warm-up 30s' } })

export const freezeSchema = z
  .strictObject({
    forMs: z
      .number()
      .positive()
      .max(366 * 86_400_000),
  })
  .openapi('Freeze')

const costsText = z
  .string()
  .transform((text, context) => {
    try {
      return parseCostsText(text)
    } catch (error) {
      // What came is said of every field.
      const message = toError(error).message.replace(`, got: ${quote(text)}`, '')
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
  })
  .optional()
  .openapi({
    type: 'string',
    description: 'What it would count in other units.',
    example: 'tokens=1200',
  })

const amount = z.number().min(0).openapi({ description: 'Units, which may be a fraction.' })
/** Body of `POST /v1/meters/{key}/fill`. */
export const fillSchema = z
  .strictObject({
    amount: amount.default(1),
    costs: costs.openapi({ description: 'What the fill counts in quotas of other units.' }),
  })
  .openapi('Fill')
/** Query of `GET /v1/meters/{key}`. */
export const meterQuerySchema = z.strictObject({ amount: amount.optional(), costs: costsText })

/** Query of the routes of one job. */
export const jobQuerySchema = z.strictObject({
  key: keyField.optional().openapi({
    description:
      'A key: the job is looked for among those of its first segment. Needed where several first segments use one id and the ' +
      'token is for more than one of them.',
  }),
})
export const forecastQuerySchema = z.strictObject({
  cost: z.int().min(1).max(1_000_000_000).default(1),
  costs: costsText,
})
