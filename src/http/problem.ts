import { quote } from '../core/describe.ts'
import type { VelvetRopeError } from '../core/errors.ts'
import { isVelvetRopeError } from '../core/errors.ts'

/**
 * The problems of the API (RFC 9457), each with its status and its fixed title. The name is the last part of the `type`,
 * `urn:velvet-rope:problem:<name>`, and is as stable as a status.
 */
export const PROBLEMS = {
  'bad-request': { status: 400, title: 'Malformed request' },
  unauthorized: { status: 401, title: 'Access token required' },
  forbidden: { status: 403, title: 'Not allowed by the access token' },
  'cross-site': { status: 403, title: 'Cross-site request refused' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'request-timeout': { status: 408, title: 'Request timeout' },
  departed: { status: 409, title: 'The job is no longer waiting' },
  'too-many-rules': { status: 409, title: 'Too many rules are set by hand' },
  'rule-book-changed': { status: 412, title: 'The rule book has another version than expected' },
  'too-large': { status: 413, title: 'The body or the data of a job is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be application/json' },
  'foreign-host': { status: 421, title: 'This Host is not served here' },
  invalid: { status: 422, title: 'Invalid request' },
  'no-limit': { status: 422, title: 'No limit governs the key' },
  'never-fits': { status: 422, title: 'The amount exceeds the capacity' },
  'unknown-unit': { status: 422, title: 'No quota of the limit counts this unit' },
  'too-costly': { status: 422, title: 'The cost of the job exceeds the capacity or a quota' },
  'idempotency-key-reused': { status: 422, title: 'The id belongs to another job' },
  'none-acceptable': { status: 422, title: 'No job of the batch can be accepted' },
  'headers-too-large': { status: 431, title: 'The request headers are too large' },
  'queue-full': { status: 429, title: 'The line is full' },
  deadline: { status: 429, title: 'The job would depart after its deadline' },
  paused: { status: 429, title: 'The bucket is paused' },
  'over-limit': { status: 429, title: 'Over the limit' },
  'token-rate': { status: 429, title: 'The access token exceeds its request rate' },
  'token-quota': { status: 429, title: 'The access token has as much as one token may have at once' },
  'memory-share': {
    status: 429,
    title: 'The first segment of the key has as much of the memory as one may have',
  },
  'none-accepted': { status: 429, title: 'No job of the batch was accepted' },
  internal: { status: 500, title: 'Internal error' },
  'temporary-reduced-capacity': { status: 503, title: 'Temporarily unavailable' },
} as const

export type ProblemName = keyof typeof PROBLEMS

/** The members of a problem beside its type; camelCase except for the one that an IETF draft names. */
interface ProblemDetails {
  readonly detail?: string
  readonly [extension: string]: unknown
}

/** One fault of a request, and its place in the body as a JSON pointer (RFC 6901) in a fragment. */
export interface Fault {
  readonly detail: string
  readonly pointer?: string
}

/** Encodes a name as a step of a pointer. */
export function pointerStep(name: string): string {
  // encodeURIComponent throws for half of a surrogate pair.
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

/** 503 with the seconds to retry after. */
export function reducedCapacity(detail: string, retryAfterS = 1): Problem {
  return new Problem('temporary-reduced-capacity', { detail }, { 'Retry-After': String(retryAfterS) })
}

/** 429 for a token that has all that one token may have at once; others are not affected. */
export function tokenQuota(detail: string): Problem {
  return new Problem('token-quota', { detail }, { 'Retry-After': '1' })
}

/** 429 for a first segment of keys that has all of the memory that one may have at the moment. */
export function memoryShare(segment: string, retryAfterS: number): Problem {
  const detail = `the first segment ${quote(segment)} has as much of the memory as one may have, until jobs of it end`
  return new Problem(
    'memory-share',
    { detail, retryAfterMs: retryAfterS * 1_000 },
    { 'Retry-After': String(retryAfterS) },
  )
}

/** 422 with all faults. */
export function invalid(errors: readonly Fault[]): Problem {
  return new Problem('invalid', { detail: errors[0]?.detail, errors })
}

export const PROBLEM_TYPE = 'application/problem+json'

/** The body of a problem; `instance` holds the id of the request. */
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
 * The problem for an error. Undefined for unexpected errors: their messages may hold addresses, commands or data, and
 * are not shown.
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
    case 'unknown-unit':
      return new Problem('unknown-unit', { detail: error.message, ...unitsOf(error) })
    case 'id-conflict':
      return new Problem('idempotency-key-reused', { detail: error.message })
    case 'too-many-rules':
      return new Problem('too-many-rules', { detail: error.message, ...boundOf(error) })
    case 'rule-book-conflict':
      return new Problem('rule-book-changed', { detail: error.message, ...versionOf(error) })
    case 'closed':
      return reducedCapacity('the service is shutting down', 5)
    case 'unknown-zone':
      // Another replica may know it.
      return reducedCapacity(error.message)
    case 'backend-unavailable':
    case 'unfit-redis':
    case 'shard-count':
      return reducedCapacity('the store is unavailable or out of memory; retry with the same id')
    default:
      return undefined
  }
}

/** The units that the limit counts. */
function unitsOf(error: VelvetRopeError): { readonly units?: unknown } {
  return 'units' in error ? { units: error.units } : {}
}

/** The bound that the rule would exceed. */
function boundOf(error: VelvetRopeError): { readonly atMost?: unknown } {
  return 'atMost' in error ? { atMost: error.atMost } : {}
}

/** The version in force, for the caller to read next. */
function versionOf(error: VelvetRopeError): { readonly version?: unknown } {
  return 'version' in error ? { version: error.version } : {}
}
