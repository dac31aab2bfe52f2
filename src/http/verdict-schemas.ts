import { z } from '@hono/zod-openapi'
import type { Accepted } from '../core/job.ts'
import { REJECT_REASONS } from '../core/verdict.ts'
import { holdSchema } from './view-schemas.ts'

const isEstimate = z.literal(true).optional().openapi({
  description:
    'The times are estimates: retries, quotas or free places may make them later, and settlements earlier.',
})
const quota = z.string().optional().openapi({
  description: 'The quota that the job alone exceeds; of a meter, the quota that refused the fill.',
  example: '90000 tokens/minute',
})

const at = z.string().optional().openapi({
  description:
    'The total that refused the job: the limit of the sum of that family. `waiting` and `capacity` are those of the total.',
  example: 'stripe/',
})

const acceptedFields = {
  key: z.string(),
  position: z.number().openapi({ description: '1 departs next.' }),
  waiting: z.number().openapi({ description: 'Cost units in the line, including those of this job.' }),
  capacity: z.number(),
  departsAt: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
  waitMs: z.number(),
  isEstimate,
  uncounted: z
    .array(z.string())
    .optional()
    .openapi({
      description:
        'Units in `costs` that no quota of the limit counts now, such as a mistyped one; absent where all count.',
      example: ['tokns'],
    }),
}

export const acceptedSchema = z
  .strictObject({ id: z.string(), ...acceptedFields })
  .openapi('Accepted') satisfies z.ZodType<Omit<Accepted, 'accepted' | 'replayed'>>

/** Does not extend the schema above: as `allOf`, two closed objects could never both match. */
export const acceptedVerdictSchema = z
  .strictObject({
    status: z.literal(202),
    id: z.string(),
    ...acceptedFields,
    replayed: z.literal(true).optional(),
  })
  .openapi('AcceptedVerdict') satisfies z.ZodType<Omit<Accepted, 'accepted'>>

const faults = z.array(z.strictObject({ detail: z.string(), pointer: z.string().optional() })).optional()
const violatedPolicies = z.array(z.string()).optional()
const local = z.literal(true).optional()

export const problemSchema = z
  .looseObject({
    type: z.string().openapi({ example: 'urn:velvet-rope:problem:queue-full' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    instance: z.string().openapi({ description: 'The id of the request.' }),
    errors: faults,
    retryAfterMs: z.number().optional(),
    waiting: z.number().optional(),
    capacity: z.number().optional(),
    isEstimate,
    quota,
    at,
    local: local.openapi({
      description: 'A limit of this process alone refused the job; the numbers are those of that limit.',
    }),
    level: z.number().optional(),
    space: z.number().optional(),
    blocked: z.boolean().optional(),
    version: z.number().optional(),
    units: z.array(z.string()).optional().openapi({ description: 'The units that the limit counts.' }),
    'violated-policies': violatedPolicies,
  })
  .openapi('Problem')

export const refusedVerdictSchema = z
  .strictObject({
    status: z.union([z.literal(413), z.literal(422), z.literal(429), z.literal(500), z.literal(503)]),
    key: z.string(),
    type: z.string(),
    title: z.string(),
    detail: z.string().optional(),
    retryAfterMs: z.number().optional(),
    waiting: z.number().optional(),
    capacity: z.number().optional(),
    isEstimate,
    quota,
    at,
    local,
    'violated-policies': violatedPolicies,
    errors: faults,
  })
  .openapi('RefusedVerdict')

export const verdictsSchema = z
  .strictObject({
    accepted: z.int(),
    rejected: z.int(),
    verdicts: z.array(z.union([acceptedVerdictSchema, refusedVerdictSchema])),
  })
  .openapi('Verdicts')

/** The verdict that an enqueue would get. A refusal is no problem here, since no job was refused. */
export const forecastSchema = z
  .union([
    z.strictObject({ accepted: z.literal(true), ...acceptedFields, heldBy: holdSchema.optional() }),
    z.strictObject({
      accepted: z.literal(false),
      reason: z.enum(REJECT_REASONS),
      key: z.string(),
      retryAfterMs: z.number().optional().openapi({ description: 'Absent where waiting does not help.' }),
      waiting: z.number(),
      capacity: z.number(),
      isEstimate,
      quota,
      local,
    }),
  ])
  .openapi('Forecast')

export const settledSchema = z
  .strictObject({
    settled: z.boolean().openapi({
      description:
        'False: the attempt was settled before, does not run, or is not the one that is meant; then nothing was changed.',
    }),
  })
  .openapi('Settled')

export const meterSchema = z
  .strictObject({
    key: z.string(),
    pattern: z.string(),
    accepted: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether the amount was added, or would be added now.' }),
    level: z.number(),
    space: z.number(),
    capacity: z.number(),
    intervalMs: z.number().openapi({ description: 'The time in which one unit leaks.' }),
    full: z.boolean(),
    blocked: z.boolean(),
    emptyInMs: z.number(),
    quotas: z
      .array(
        z.strictObject({
          quota: z.string().openapi({ example: '90000 tokens/minute' }),
          unit: z.string().optional().openapi({ description: 'Absent: units of the meter.' }),
          amount: z.number(),
          used: z.number(),
          windowMs: z.number(),
          roomInMs: z.number().openapi({
            description:
              'The time until there is room for one more, or for as many as a fill counts that does not say.',
          }),
        }),
      )
      .optional()
      .openapi({ description: 'What the quotas of the limit count; absent where it has none.' }),
  })
  .openapi('Meter')
