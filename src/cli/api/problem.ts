import { z } from 'zod'
import { oneLine } from '../../core/describe.ts'
import { VelvetRopeError } from '../../core/errors.ts'

/** A problem (RFC 9457) of a velvet-rope service; unknown members are ignored. */
const problemSchema = z.looseObject({
  type: z.string().default('about:blank'),
  title: z.string().optional(),
  detail: z.string().optional(),
  retryAfterMs: z.number().nonnegative().nullish(),
  errors: z.array(z.looseObject({ detail: z.string(), pointer: z.string().optional() })).default([]),
})

/**
 * The service answered with a problem. `code` is `api-refused` when the same request would be refused again, and
 * `api-failed` when the service failed or is overloaded: 5xx, 408 and 429.
 */
export class ApiProblemError extends VelvetRopeError {
  readonly status: number
  /** The last part of the problem's type: `queue-full`, `no-limit`. */
  readonly problem: string
  /** When to retry, in milliseconds; undefined: the service did not say. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, status: number, problem: string, retryAfterMs: number | undefined) {
    super(status >= 500 || status === 408 || status === 429 ? 'api-failed' : 'api-refused', message)
    this.status = status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** An answer that is a problem. */
export interface Refusal {
  readonly status: number
  readonly body: unknown
  readonly retryAfter?: string | null
  /** Whether the request carried a token, to distinguish a missing token from a wrong one. */
  readonly hasToken: boolean
}

/** Turns a problem into an error; text from the service is limited to one bounded line. */
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

/** The version of the rule book in a `rule-book-changed` problem; undefined in other bodies. */
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
  // With a single fault, `detail` repeats it.
  const isSaid = errors.some((fault) => fault.detail === detail)
  return oneLine([isSaid ? '' : (detail ?? title ?? ''), ...faults].filter((part) => part !== '').join('; '))
}

function hintOf(status: number, hasToken: boolean): string {
  if (status !== 401) return ''
  return hasToken ? 'check the token' : 'it needs a token: --token, or VELVET_ROPE_TOKEN in the environment'
}

/** Reads whole seconds, as a velvet-rope service writes them. */
function readRetryAfter(header: string | null | undefined): number | undefined {
  return header !== null && header !== undefined && /^\d{1,9}$/.test(header.trim())
    ? Number(header) * 1_000
    : undefined
}
