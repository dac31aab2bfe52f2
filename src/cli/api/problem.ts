import { z } from 'zod'
import { oneLine } from '../../core/describe.ts'
import { VelvetRopeError } from '../../core/errors.ts'

/** A problem of RFC 9457 as our service writes it; what is unknown is left alone. */
const problemSchema = z.looseObject({
  type: z.string().default('about:blank'),
  title: z.string().optional(),
  detail: z.string().optional(),
  retryAfterMs: z.number().nonnegative().nullish(),
  errors: z.array(z.looseObject({ detail: z.string(), pointer: z.string().optional() })).default([]),
})

/**
 * The service was reached and said no. `code` is `api-refused` when the same request will be refused again, and
 * `api-failed` when the service is in trouble, or has too much to do: 5xx, 408 and 429.
 */
export class ApiProblemError extends VelvetRopeError {
  readonly status: number
  /** The last part of the problem's type: `queue-full`, `no-limit`. */
  readonly problem: string
  /** When to come back, in milliseconds; undefined: the service did not say. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, status: number, problem: string, retryAfterMs: number | undefined) {
    super(status >= 500 || status === 408 || status === 429 ? 'api-failed' : 'api-refused', message)
    this.status = status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** What the service answers instead of what was asked for. */
export interface Refusal {
  readonly status: number
  readonly body: unknown
  readonly retryAfter?: string | null
  /** Whether the request carried a token; one that is missing is told apart from a wrong one. */
  readonly hasToken: boolean
}

/** Makes an error of an answer that is none; what the service wrote is shown in one bounded line. */
export function readProblem({ status, body, retryAfter, hasToken }: Refusal): ApiProblemError {
  const parsed = problemSchema.safeParse(body)
  const problem = parsed.success ? problemName(parsed.data.type) : ''
  const retryAfterMs = (parsed.success ? parsed.data.retryAfterMs : undefined) ?? readRetryAfter(retryAfter)
  const words = parsed.success ? describeProblem(parsed.data) : ''
  const message = [`the service answered ${status}`, words, hintOf(status, hasToken)]
    .filter((part) => part !== '')
    .join(': ')
  return new ApiProblemError(message, status, problem, retryAfterMs)
}

/** The version of the rule book in force, of a `rule-book-changed`; undefined in what is none. */
export function readVersion(body: unknown): number | undefined {
  return z.looseObject({ version: z.number() }).safeParse(body).data?.version
}

/** `urn:velvet-rope:problem:queue-full` and `https://host/problems/queue-full` both end with the name. */
export function problemName(type: string): string {
  return type.split(/[:/#]/).at(-1) ?? ''
}

function describeProblem({ title, detail, errors }: z.output<typeof problemSchema>): string {
  const faults = errors.map(({ detail, pointer }) =>
    pointer === undefined ? detail : `${pointer} ${detail}`,
  )
  // Of one fault the service says the same as of the whole.
  const isSaid = errors.some((fault) => fault.detail === detail)
  return oneLine([isSaid ? '' : (detail ?? title ?? ''), ...faults].filter((part) => part !== '').join('; '))
}

function hintOf(status: number, hasToken: boolean): string {
  if (status !== 401) return ''
  return hasToken
    ? 'is the token right?'
    : 'it wants a token: --token, or VELVET_ROPE_TOKEN in the environment'
}

/** Whole seconds, as our service writes them. */
function readRetryAfter(header: string | null | undefined): number | undefined {
  return header !== null && header !== undefined && /^\d{1,9}$/.test(header.trim())
    ? Number(header) * 1_000
    : undefined
}
