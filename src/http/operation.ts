import type { RouteConfig, z } from '@hono/zod-openapi'
import { LONGEST_KEY } from '../core/key.ts'
import { PROBLEMS, type ProblemName } from './problem.ts'
import type { ParameterObject, Route } from './route.ts'
import { problemSchema } from './verdict-schemas.ts'

/** Describes a response header. */
export function textHeader(description: string) {
  return { description, schema: { type: 'string' as const } }
}

/** The two headers of a verdict (draft-ietf-httpapi-ratelimit-headers-10). */
export const RATE_LIMIT_HEADERS = {
  'RateLimit-Policy': textHeader(
    'Pattern, capacity, and the seconds in which a full bucket drains; then each quota of the limit, its seconds and its unit (`qu`), ' +
      'and how many may run at once.',
  ),
  RateLimit: textHeader(
    'Pattern, free units, and the seconds until the next one is free; the same for each further part of the limit.',
  ),
}
const REQUEST_ID = {
  'X-Request-Id': textHeader(
    'The id of the request, its own or a new one; the `instance` of a problem ends with it.',
  ),
}
const RETRY_AFTER = { 'Retry-After': textHeader('Whole seconds, at least 1.') }
type Headers = Readonly<Record<string, ReturnType<typeof textHeader>>>
/** Headers that come with a problem, by its name. */
const PROBLEM_HEADERS: Readonly<Partial<Record<ProblemName, Headers>>> = {
  unauthorized: { 'WWW-Authenticate': textHeader('Bearer, and what is wrong with the token.') },
  forbidden: { 'WWW-Authenticate': textHeader('The scope that is missing.') },
  'method-not-allowed': { Allow: textHeader('The methods of this path.') },
  'unsupported-media-type': { Accept: textHeader('application/json') },
  'queue-full': { ...RETRY_AFTER, ...RATE_LIMIT_HEADERS },
  deadline: { ...RETRY_AFTER, ...RATE_LIMIT_HEADERS },
  paused: { ...RETRY_AFTER, ...RATE_LIMIT_HEADERS },
  'over-limit': { ...RETRY_AFTER, ...RATE_LIMIT_HEADERS },
  'token-rate': { ...RETRY_AFTER, ...RATE_LIMIT_HEADERS },
  'token-quota': RETRY_AFTER,
  'memory-share': RETRY_AFTER,
  'none-accepted': RETRY_AFTER,
  'temporary-reduced-capacity': RETRY_AFTER,
}

/** Describes the version of a file. */
export const ETAG = { ETag: textHeader('The version of the file, for `If-None-Match`.') }
export const NOT_MODIFIED = { description: 'The client has it already.', headers: ETAG }

/** Describes a body of JSON. */
export function jsonContent<Schema extends z.ZodType>(schema: Schema) {
  return { content: { 'application/json': { schema } } }
}

/** The OpenAPI operation of a route, with its answers and all its possible problems by status. */
export function operationOf(route: Route): RouteConfig {
  const { method, path, scope, summary, request, answers, parameters = [] } = route
  const [, parameter] = /\{([^}]+)\}/.exec(path) ?? []
  return {
    method,
    path,
    summary,
    ...(scope !== undefined && {
      description: `Needs a token with the scope \`${scope}\` or \`admin\`, where the service has tokens.`,
    }),
    tags: [path.split('/')[2] ?? 'system'],
    operationId: operationId(route),
    // An empty list marks an open route; the others need a token where the service has tokens.
    security: scope === undefined ? [] : [{ token: [] }, {}],
    ...(request !== undefined && { request }),
    parameters: [...(parameter === undefined ? [] : [pathParameter(parameter)]), ...parameters],
    responses: { ...described(answers), ...problemResponses(problemsOf(route)) },
  }
}

/** The problems of a route, including those of its access checks, its path and its body. */
function problemsOf({ scope, request, path, problems }: Route): ProblemName[] {
  return [
    ...problems,
    ...(scope === undefined ? [] : (['unauthorized', 'forbidden', 'token-rate', 'token-quota'] as const)),
    // A subject of dots alone changes the path.
    ...(path.includes('{') ? (['not-found', 'method-not-allowed'] as const) : []),
    ...(/\{(?:key|pattern)\}/.test(path) ? (['invalid'] as const) : []),
    ...(request?.body === undefined ? [] : (['too-large', 'unsupported-media-type', 'invalid'] as const)),
    // From the server: no Host, another site, another host, shutdown.
    ...(['bad-request', 'cross-site', 'foreign-host', 'temporary-reduced-capacity', 'internal'] as const),
  ]
}

function problemResponses(names: readonly ProblemName[]): RouteConfig['responses'] {
  const byStatus = new Map<number, Set<ProblemName>>()
  for (const name of names) {
    const { status } = PROBLEMS[name]
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(name))
  }
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: [...group].map((name) => `\`${name}\`: ${PROBLEMS[name].title}.`).join(' '),
        headers: Object.assign({}, REQUEST_ID, ...[...group].map((name) => PROBLEM_HEADERS[name])) as Headers,
        content: { 'application/problem+json': { schema: problemSchema } },
      },
    ]),
  )
}

function described(answers: Route['answers']): RouteConfig['responses'] {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [
      status,
      { ...answer, headers: { ...REQUEST_ID, ...('headers' in answer && answer.headers) } },
    ]),
  )
}

function pathParameter(name: string): ParameterObject {
  const text = { type: 'string' as const }
  if (name === 'id')
    return { name, in: 'path', required: true, description: 'The id of a job.', schema: text }
  const description =
    `A ${name}, percent-encoded, at most ${LONGEST_KEY} bytes of UTF-8, without segments . and ..; ` +
    'a slash in it may be written as it is or as %2F.'
  const schema = { ...text, minLength: 1, maxLength: LONGEST_KEY }
  return { name, in: 'path', required: true, description, schema }
}

/** `POST /v1/buckets/{key}/jobs` is `postBucketsKeyJobs`. */
function operationId({ method, path }: Route): string {
  const words = path.match(/[A-Za-z]+/g) ?? ['root']
  return [method, ...words.filter((word) => word !== 'v')]
    .map((word, index) => (index === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')
}
