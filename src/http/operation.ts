import type { RouteConfig, z } from '@hono/zod-openapi'
import { PROBLEMS, type ProblemName } from './problem.ts'
import type { ParameterObject, Route } from './route.ts'
import { problemSchema } from './schemas.ts'

/** A header of an answer, for the description of a route. */
export function textHeader(description: string) {
  return { description, schema: { type: 'string' as const } }
}

/** The two of a verdict, as draft-ietf-httpapi-ratelimit-headers-10 has them. */
export const RATE_LIMIT_HEADERS = {
  'RateLimit-Policy': textHeader('Pattern, capacity, seconds in which a full bucket leaks dry.'),
  RateLimit: textHeader('Pattern, free units, seconds until the next one.'),
}
const REQUEST_ID = {
  'X-Request-Id': textHeader('That of the request, or a new one; `instance` of a problem ends with it.'),
}
const RETRY_AFTER = { 'Retry-After': textHeader('Whole seconds, at least 1.') }
const PROBLEM_HEADERS: Readonly<Record<number, Record<string, ReturnType<typeof textHeader>>>> = {
  401: { 'WWW-Authenticate': textHeader('Bearer, and what was wrong with the token.') },
  403: { 'WWW-Authenticate': textHeader('The scope that is missing.') },
  415: { Accept: textHeader('application/json') },
  429: { ...RETRY_AFTER, ...RATE_LIMIT_HEADERS },
  503: RETRY_AFTER,
}

/** A body of JSON, for the description of a route. */
export function jsonContent<Schema extends z.ZodType>(schema: Schema) {
  return { content: { 'application/json': { schema } } }
}

/** How OpenAPI describes a route: its own answers, and every problem that it can answer, by status. */
export function operationOf(route: Route): RouteConfig {
  const { method, path, scope, summary, request, answers, parameters = [] } = route
  const [, parameter] = /\{([^}]+)\}/.exec(path) ?? []
  return {
    method,
    path,
    summary,
    ...(scope !== undefined && {
      description: `Where there are tokens, one with the scope \`${scope}\` or \`admin\`.`,
    }),
    tags: [path.split('/')[2] ?? 'system'],
    operationId: operationId(route),
    // Open routes say so; the others need a token where the service has tokens.
    security: scope === undefined ? [] : [{ token: [] }],
    ...(request !== undefined && { request }),
    parameters: [...(parameter === undefined ? [] : [pathParameter(parameter)]), ...parameters],
    responses: { ...described(answers), ...problemResponses(problemsOf(route)) },
  }
}

/** The problems of a route, with those that its access and its kind bring along. */
function problemsOf({ method, scope, isExempt, request, path, problems }: Route): ProblemName[] {
  return [
    ...problems,
    ...(scope === undefined ? [] : (['unauthorized', 'forbidden', 'token-rate'] as const)),
    ...(method === 'get' ? [] : (['cross-site'] as const)),
    ...(path.includes('{') ? (['bad-request', 'invalid'] as const) : []),
    ...(request?.body === undefined
      ? []
      : (['bad-request', 'too-large', 'unsupported-media-type', 'invalid'] as const)),
    ...(isExempt ? [] : (['temporary-reduced-capacity'] as const)),
    'internal',
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
        headers: { ...REQUEST_ID, ...PROBLEM_HEADERS[status] },
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
  const description =
    name === 'id'
      ? 'The id of a job.'
      : `A ${name}, percent-encoded; a slash in it may be written as it is, or as %2F.`
  return { name, in: 'path', required: true, description, schema: { type: 'string' } }
}

/** `POST /v1/buckets/{key}/jobs` is `postBucketsKeyJobs`. */
function operationId({ method, path }: Route): string {
  const words = path.match(/[A-Za-z]+/g) ?? ['root']
  return [method, ...words.filter((word) => word !== 'v')]
    .map((word, index) => (index === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')
}
