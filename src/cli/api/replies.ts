import { z } from 'zod'
import type { Admission, Rejected } from '../../core/job.ts'
import type { ListedRule, RuleBookView } from '../../core/rule-view.ts'
import { localRuleSchema, previewSchema, ruleBookSchema, ruleSchema } from '../../http/rule-schemas.ts'
import { acceptedVerdictSchema, settledSchema } from '../../http/verdict-schemas.ts'
import {
  bucketPageSchema,
  bucketSchema,
  explanationSchema,
  familyPageSchema,
} from '../../http/view-schemas.ts'
import type { EnqueueRequest } from '../../shaper/options.ts'
import { type ApiProblemError, problemName, readProblem } from './problem.ts'

const count = z.number().default(0)
/** Services of other versions may leave out or null these fields. */
export const pageReply = tolerant(
  bucketPageSchema.extend({
    buckets: z.array(
      bucketSchema.extend({
        pattern: z.string().default(''),
        limit: z.string().default(''),
        jobs: count,
        retrying: count,
        running: count,
        oldestWaitMs: count,
        paused: z.boolean().default(false),
        durability: bucketSchema.shape.durability.default('none'),
      }),
    ),
    cursor: z
      .string()
      .nullish()
      .transform((cursor) => cursor ?? undefined),
  }),
)
export const familyPageReply = tolerant(familyPageSchema)
export const settledReply = tolerant(settledSchema)
export const ruleReply = tolerant(ruleSchema)
export const localRuleReply = tolerant(localRuleSchema)
export const previewReply = tolerant(previewSchema)
export const explanationReply = tolerant(
  explanationSchema.extend({ summaryWithoutTimes: z.string().default('') }),
)

/** The rules of a book, followed by the limits of the service's own process. */
export interface RuleList extends Pick<RuleBookView, 'version' | 'unset'> {
  readonly limits: readonly ListedRule[]
}

/** A service that has no versions, unset rules or local limits leaves them out. */
export const ruleBookReply = tolerant(ruleBookSchema.partial().required({ limits: true })).transform(
  ({ version = 0, limits, unset = [], local = [] }): RuleList => ({
    version,
    limits: [...limits, ...local],
    unset,
  }),
)

const verdictsReply = z.looseObject({
  verdicts: z.array(
    z.union([
      acceptedVerdictSchema.strip(),
      z.looseObject({
        status: z.number().min(400),
        type: z.string().default(''),
        retryAfterMs: z.number().nullish(),
        waiting: count,
        capacity: count,
        isEstimate: z.literal(true).optional(),
        quota: z.string().optional(),
        at: z.string().optional(),
        local: z.literal(true).optional(),
      }),
    ]),
  ),
})
type Verdict = z.output<typeof verdictsReply>['verdicts'][number]
type AcceptedVerdict = z.output<typeof acceptedVerdictSchema>
type RefusedVerdict = Exclude<Verdict, AcceptedVerdict>

const REASONS: ReadonlyMap<string, Rejected['reason']> = new Map([
  ['queue-full', 'full'],
  ['deadline', 'deadline'],
  ['paused', 'paused'],
  ['too-costly', 'too-costly'],
])

/** Reads a verdict for each request, in order. Returns undefined when the answer holds something else. */
export function readVerdicts(
  body: unknown,
  requests: readonly EnqueueRequest<unknown>[],
): readonly (Admission | ApiProblemError)[] | undefined {
  const parsed = verdictsReply.safeParse(body)
  if (!parsed.success || parsed.data.verdicts.length !== requests.length) return undefined
  return parsed.data.verdicts.map((verdict, index) => {
    if (!isAccepted(verdict)) return readRefused(verdict, requests[index]!.key)
    const { status, ...accepted } = verdict
    return { accepted: true, ...accepted }
  })
}

/** By its status: a refusal of another version may name the id, too. */
function isAccepted(verdict: Verdict): verdict is AcceptedVerdict {
  return verdict.status === 202
}

/** A refusal by a limit is a value; any other problem of a job is an error. */
function readRefused(verdict: RefusedVerdict, key: string): Admission | ApiProblemError {
  const { status, type, retryAfterMs, waiting, capacity, isEstimate, quota, at, local } = verdict
  const reason = REASONS.get(problemName(type))
  if (reason === undefined) return readProblem({ status, body: verdict, hasToken: true })
  return {
    accepted: false,
    reason,
    key,
    retryAfterMs: retryAfterMs ?? Number.POSITIVE_INFINITY,
    waiting,
    capacity,
    ...(isEstimate && { isEstimate }),
    ...(quota !== undefined && { quota }),
    ...(at !== undefined && { at }),
    ...(local && { local }),
  }
}

/** The same schema, but with unknown fields kept at every level: a newer service may send more. */
function tolerant<Schema extends z.ZodType>(schema: Schema): z.ZodType<z.output<Schema>> {
  return loosen(schema) as z.ZodType<z.output<Schema>>
}

function loosen(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape).map(([name, field]) => [name, loosen(field)] as const)
    return z.looseObject(Object.fromEntries(fields))
  }
  if (schema instanceof z.ZodArray) return z.array(loosen(schema.element))
  if (schema instanceof z.ZodOptional) return z.optional(loosen(schema.unwrap()))
  if (schema instanceof z.ZodNonOptional) return z.nonoptional(loosen(schema.unwrap()))
  if (schema instanceof z.ZodNullable) return z.nullable(loosen(schema.unwrap()))
  if (schema instanceof z.ZodUnion) return z.union(schema.options.map(loosen))
  return schema as z.ZodType
}
