import { z } from '@hono/zod-openapi'
import { type BucketView, JOB_STATES, type JobView } from '../core/job.ts'
import { checkKey, LONGEST_KEY } from '../core/key.ts'
import { LARGEST_CAPACITY } from '../core/limit.ts'
import { LARGEST_COUNT, SMALLEST_COUNT } from '../core/rate.ts'
import type { BucketPage } from '../line/bucket-query.ts'
import { enqueueOptionsSchema } from '../shaper/options.ts'
import { SCOPES } from './access.ts'

/** Any JSON, but there must be some. */
const data = z
  .unknown()
  .refine((value) => value !== undefined, 'expected data, which may be any JSON, null as well')
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
    description: `At most ${LONGEST_KEY} bytes of UTF-8; no segment of it is . or ..`,
  })

// The trace comes in its header.
const { id, cost, deadlineMs, attempts, backoff, timeoutMs } = enqueueOptionsSchema.shape
const jobFields = { data, id, cost, deadlineMs, attempts, backoff, timeoutMs }

/** Body of `POST /v1/buckets/{key}/jobs`. */
export const newJobSchema = z.strictObject(jobFields).openapi('NewJob')
export type NewJob = z.output<typeof newJobSchema>

/** Body of `POST /v1/jobs`. */
export function newJobsSchema(most: number) {
  const job = z.strictObject({ key: keyField, ...jobFields }).openapi('NewJobOfBatch')
  return z.strictObject({ jobs: z.array(job).min(1).max(most) }).openapi('NewJobs')
}

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

/** Body of `POST /v1/meters/{key}/fill`, and query of `GET /v1/meters/{key}`. */
const amount = z.number().min(0).openapi({ description: 'Units, which may be a fraction.' })
export const fillSchema = z.strictObject({ amount: amount.default(1) }).openapi('Fill')
export const meterQuerySchema = z.strictObject({ amount: amount.optional() })

export const meterSchema = z
  .strictObject({
    key: z.string(),
    pattern: z.string(),
    accepted: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether the amount went in, or would go in now.' }),
    level: z.number(),
    space: z.number(),
    capacity: z.number(),
    intervalMs: z.number().openapi({ description: 'In which one unit leaks.' }),
    full: z.boolean(),
    blocked: z.boolean(),
    emptyInMs: z.number(),
  })
  .openapi('Meter')

const time = z.number().openapi({ description: 'Milliseconds since the epoch.' })

const acceptedFields = {
  key: z.string(),
  position: z.number().openapi({ description: '1 departs next.' }),
  waiting: z.number().openapi({ description: 'Cost units in the line, those of this job included.' }),
  capacity: z.number(),
  departsAt: time,
  waitMs: z.number(),
}

export const acceptedSchema = z.strictObject({ id: z.string(), ...acceptedFields }).openapi('Accepted')

/** Not an extension of the one above: as `allOf` two closed objects can never both hold. */
const acceptedVerdictSchema = z
  .strictObject({
    status: z.literal(202),
    id: z.string(),
    ...acceptedFields,
    replayed: z.literal(true).optional(),
  })
  .openapi('AcceptedVerdict')

export const problemSchema = z
  .looseObject({
    type: z.string().openapi({ example: 'urn:velvet-rope:problem:queue-full' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    instance: z.string().openapi({ description: 'The id of the request.' }),
    errors: z.array(z.strictObject({ detail: z.string(), pointer: z.string().optional() })).optional(),
    retryAfterMs: z.number().optional(),
    waiting: z.number().optional(),
    capacity: z.number().optional(),
    local: z
      .literal(true)
      .optional()
      .openapi({ description: 'A limit of this process alone refused the job; the numbers are of that.' }),
    level: z.number().optional(),
    space: z.number().optional(),
    blocked: z.boolean().optional(),
    version: z.number().optional(),
    'violated-policies': z.array(z.string()).optional(),
  })
  .openapi('Problem')

const refusedVerdictSchema = z
  .strictObject({
    status: z.union([z.literal(413), z.literal(422), z.literal(429), z.literal(500), z.literal(503)]),
    key: z.string(),
    type: z.string(),
    title: z.string(),
    detail: z.string().optional(),
    retryAfterMs: z.number().optional(),
    waiting: z.number().optional(),
    capacity: z.number().optional(),
    local: z.literal(true).optional(),
    'violated-policies': z.array(z.string()).optional(),
    errors: z.array(z.strictObject({ detail: z.string(), pointer: z.string().optional() })).optional(),
  })
  .openapi('RefusedVerdict')

export const verdictsSchema = z
  .strictObject({
    accepted: z.int(),
    rejected: z.int(),
    verdicts: z.array(z.union([acceptedVerdictSchema, refusedVerdictSchema])),
  })
  .openapi('Verdicts')

/** What an enqueue would be answered: in short, since nothing was refused. */
export const forecastSchema = z
  .union([
    z.strictObject({ accepted: z.literal(true), ...acceptedFields }),
    z.strictObject({
      accepted: z.literal(false),
      reason: z.enum(['full', 'deadline', 'paused', 'too-costly']),
      key: z.string(),
      retryAfterMs: z.number().optional().openapi({ description: 'Absent where waiting does not help.' }),
      waiting: z.number(),
      capacity: z.number(),
      local: z.literal(true).optional(),
    }),
  ])
  .openapi('Forecast')

export const jobSchema: z.ZodType<Omit<JobView, 'data'>> = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    state: z.enum(JOB_STATES),
    cost: z.number(),
    data: z.unknown().optional().openapi({ description: 'Only for the scope admin.' }),
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
  .openapi('Job')

export const bucketSchema: z.ZodType<BucketView> = z
  .strictObject({
    key: z.string(),
    pattern: z.string(),
    limit: z.string(),
    state: z.enum(['idle', 'waiting', 'full', 'frozen', 'paused']),
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
    lastUsedAt: time.optional(),
    durability: z.enum(['memory', 'none', 'everysec', 'always']),
  })
  .openapi('Bucket')

export const bucketPageSchema: z.ZodType<BucketPage> = z
  .strictObject({
    buckets: z.array(bucketSchema),
    total: z.number(),
    isAtLeast: z.literal(true).optional().openapi({ description: 'There may be more than `total`.' }),
    cursor: z.string().optional(),
  })
  .openapi('BucketPage')

export const sessionSchema = z
  .strictObject({
    name: z.string().openapi({ description: 'Of the token; `anonymous` where there are none.' }),
    scopes: z.array(z.enum(SCOPES)),
    prefixes: z.array(z.string()).openapi({ description: 'None: every key.' }),
    backend: z.enum(['memory', 'redis']),
    shaper: z.string(),
    version: z.string(),
    durability: z.enum(['memory', 'none', 'everysec', 'always']).optional(),
  })
  .openapi('Session')

export const forecastQuerySchema = z.strictObject({ cost: z.int().min(1).max(1_000_000_000).default(1) })
