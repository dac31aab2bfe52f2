import type { VelvetRopeError } from '../core/errors.ts'
import { isVelvetRopeError } from '../core/errors.ts'

/**
 * Every kind of answer that is not what was asked for: its status, and its title, which never changes with the
 * request (RFC 9457). The name ends the `type`, `urn:velvet-rope:problem:<name>`, and is as stable as a status.
 */
export const PROBLEMS = {
  'bad-request': { status: 400, title: 'The request cannot be read' },
  unauthorized: { status: 401, title: 'A valid access token is needed' },
  forbidden: { status: 403, title: 'The access token does not allow this' },
  'cross-site': { status: 403, title: 'Another site has no business here' },
  'not-found': { status: 404, title: 'There is no such thing' },
  'method-not-allowed': { status: 405, title: 'The method is not known here' },
  'request-timeout': { status: 408, title: 'The request did not come in time' },
  departed: { status: 409, title: 'The job waits no longer' },
  'rule-book-changed': { status: 412, title: 'The rule book is not of the version that was expected' },
  'too-large': { status: 413, title: 'The body, or the data of a job, is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be application/json' },
  'foreign-host': { status: 421, title: 'The Host of the request is not served here' },
  invalid: { status: 422, title: 'The request is not valid' },
  'no-limit': { status: 422, title: 'No limit governs the key' },
  'never-fits': { status: 422, title: 'The amount is more than the capacity and can never fit' },
  'too-costly': { status: 422, title: 'The job costs more than the capacity and can never fit' },
  'idempotency-key-reused': { status: 422, title: 'The id was given to another job' },
  'none-acceptable': { status: 422, title: 'No job of the batch can ever be accepted as it is' },
  'headers-too-large': { status: 431, title: 'The head of the request is too large' },
  'queue-full': { status: 429, title: 'The line is full' },
  deadline: { status: 429, title: 'The job would depart after its deadline' },
  paused: { status: 429, title: 'The bucket is paused' },
  'over-limit': { status: 429, title: 'It is more than the limit allows for now' },
  'token-rate': { status: 429, title: 'The access token is used more often than it may be' },
  'none-accepted': { status: 429, title: 'No job of the batch was accepted' },
  internal: { status: 500, title: 'Something went wrong' },
  'temporary-reduced-capacity': { status: 503, title: 'Nothing is accepted for the moment' },
} as const

export type ProblemName = keyof typeof PROBLEMS

/** What a problem says of this request; extensions are camelCase but for the one that a draft of the IETF names. */
interface ProblemDetails {
  readonly detail?: string
  readonly [extension: string]: unknown
}

/** One fault of a request: what is wrong, and where in its body, as a JSON pointer (RFC 6901) in a fragment. */
export interface Fault {
  readonly detail: string
  readonly pointer?: string
}

/** A name as a step of a pointer. */
export function pointerStep(name: string): string {
  // A name may hold half of a surrogate pair, which encodeURIComponent refuses.
  return encodeURIComponent(
    name
      .replace(/\p{Surrogate}/gu, '\ufffd')
      .replaceAll('~', '~0')
      .replaceAll('/', '~1'),
  )
}

/** Thrown by a route, and answered as `application/problem+json`. */
export class Problem extends Error {
  readonly problem: ProblemName
  readonly details: ProblemDetails
  readonly headers: Readonly<Record<string, string>>

  constructor(
    problem: ProblemName,
    details: ProblemDetails = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(details.detail ?? PROBLEMS[problem].title)
    this.problem = problem
    this.details = details
    this.headers = headers
  }
}

/** 503, and when to try again, in seconds. */
export function reducedCapacity(detail: string, retryAfterS = 1): Problem {
  return new Problem('temporary-reduced-capacity', { detail }, { 'Retry-After': String(retryAfterS) })
}

/** 422 with each fault. */
export function invalid(errors: readonly Fault[]): Problem {
  return new Problem('invalid', { detail: errors[0]?.detail, errors })
}

export const PROBLEM_TYPE = 'application/problem+json'

/** The body of a problem. `instance` is the request's id, where it has one. */
export function problemBody(problem: ProblemName, details: ProblemDetails, requestId?: string) {
  const { status, title } = PROBLEMS[problem]
  return {
    type: `urn:velvet-rope:problem:${problem}`,
    title,
    status,
    ...details,
    ...(requestId !== undefined && { instance: `urn:request:${requestId}` }),
  }
}

export function problemResponse({ problem, details, headers }: Problem, requestId: string): Response {
  return new Response(JSON.stringify(problemBody(problem, details, requestId)), {
    status: PROBLEMS[problem].status,
    headers: { ...headers, 'Content-Type': PROBLEM_TYPE },
  })
}

/**
 * What an error means to a caller. Undefined for those that nobody expected: they say nothing of themselves, since
 * their messages may hold addresses, commands or data.
 */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  return isVelvetRopeError(error) ? ofOurs(error) : undefined
}

function ofOurs(error: VelvetRopeError): Problem | undefined {
  switch (error.code) {
    case 'invalid-key':
    case 'invalid-data':
    case 'invalid-options':
    case 'invalid-limit':
      return invalid([{ detail: error.message }])
    case 'data-too-large':
      return new Problem('too-large', { detail: error.message })
    case 'no-limit':
      return new Problem('no-limit', { detail: error.message })
    case 'id-conflict':
      return new Problem('idempotency-key-reused', { detail: error.message })
    case 'rule-book-conflict':
      return new Problem('rule-book-changed', { detail: error.message, ...versionOf(error) })
    case 'closed':
      return reducedCapacity('the service is going down', 5)
    case 'backend-unavailable':
    case 'unfit-redis':
    case 'shard-count':
      return reducedCapacity('the line cannot be reached, or has no memory left; try again with the same id')
    default:
      return undefined
  }
}

/** The one in force, so that the caller knows what to look at. */
function versionOf(error: VelvetRopeError): { readonly version?: unknown } {
  return 'version' in error ? { version: error.version } : {}
}
