import { ok } from 'node:assert/strict'
import fc from 'fast-check'
import { Api } from '../../unit/http/api.ts'
import { machine } from '../machine.ts'
import { oddNumber, oddText, oddValue, orOdd, someFields } from '../odd-values.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'get']
const encoded = fc.oneof(
  oddText.map((text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))),
  oddText,
  fc.constantFrom('a', 'a/b', 'a%2Fb', '%', '%zz', '%ff', '..%2f..', '%00'),
)
const VERBS = [
  'jobs',
  'forecast',
  'freeze',
  'unfreeze',
  'pause',
  'resume',
  'line',
  'recent',
  'fill',
  'drain',
  'check',
  'cancel',
  'explain',
  'reset',
  'preview',
]
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        'prefix',
        'limit',
        'sort',
        'cursor',
        'state',
        'minFill',
        'maxFill',
        'minOldestWaitMs',
        'pattern',
        'cost',
        'key',
        'types',
      ),
      fc.oneof(oddNumber.map(String), encoded),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`))
const path = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        '/v1/buckets',
        '/v1/jobs',
        '/v1/limits',
        '/v1/meters',
        '/v1/events',
        '/v1/flow',
        '/v1/session',
        '/openapi.json',
        '/healthz',
        '/readyz',
        '/metrics',
        '/',
        '/v2',
        '/v1',
      ),
      fc.constantFrom('', '/'),
      encoded,
      fc.constantFrom('', ...VERBS.map((verb) => `/${verb}`)),
      query,
    )
    .map(
      ([base, slash, subject, verb, search]) => `${base}${slash === '' ? '' : `/${subject}${verb}`}${search}`,
    ),
  encoded.map((text) => `/${text}`),
)
const job = someFields({
  data: oddValue,
  id: orOdd(fc.constantFrom('j1', 'ik-x')),
  cost: orOdd(oddNumber),
  deadlineMs: orOdd(oddNumber),
  attempts: oddNumber,
  key: orOdd(fc.constantFrom('a', 'b/x')),
})
const toJson = (value: unknown): string => {
  try {
    return (
      JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}` : inner)) ?? ''
    )
  } catch {
    return '{'
  }
}
const body = fc.oneof(
  job.map(toJson),
  fc.array(orOdd(job), { maxLength: 3 }).map((jobs) => toJson({ jobs })),
  someFields({
    limit: orOdd(fc.constantFrom('5, 1/s')),
    capacity: oddNumber,
    rate: orOdd(fc.constantFrom('1/s')),
    forMs: oddNumber,
    amount: oddNumber,
    version: oddNumber,
  }).map(toJson),
  oddValue.map(toJson),
  fc.json(),
  fc.integer({ min: 20, max: 5_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  fc.constantFrom(
    '',
    ' ',
    '{',
    '{"data":1}x',
    '{"data":12345678901234567890}',
    '{"data":1e999}',
    '{"__proto__":{"a":1},"data":1}',
    '\ufeff{"data":1}',
  ),
  oddText,
)
const headerValue = fc.oneof(
  fc.constantFrom(
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'gzip',
    '*',
    '"*"',
    '"1"',
    'W/"1"',
    'Bearer x',
    'Basic eA==',
    '0',
    '-1',
    'null',
    'http://localhost',
    'https://evil.example',
    'cross-site',
    'same-origin',
    '100-continue',
    '"a b"',
    '"',
  ),
  oddText,
)
const headers = fc.dictionary(
  fc.constantFrom(
    'Content-Type',
    'Content-Encoding',
    'Content-Length',
    'Idempotency-Key',
    'If-Match',
    'If-None-Match',
    'Authorization',
    'Origin',
    'Sec-Fetch-Site',
    'Last-Event-ID',
    'X-Request-Id',
    'Accept',
    'Expect',
    'traceparent',
    'Host',
    'Range',
    'Cookie',
  ),
  headerValue,
  { maxKeys: 4, noNullPrototype: true },
)

/** The API behind its server: any request that a library would send. The answer is no failure, and a problem says what is wrong. */
export const requests = machine({
  name: 'requests to the API',
  inputs: fc.record({
    method: fc.constantFrom(...METHODS),
    path,
    body: fc.option(body, { nil: undefined }),
    headers,
    isJson: fc.boolean(),
  }),
  few: 1_000,
  share: 14,
  open: async () => {
    const api = new Api({ '*': '50, 10/s', 'b/*': '1, 1/s' })
    const give = async ({
      method,
      path: target,
      body: raw,
      headers: given,
      isJson,
    }: {
      method: string
      path: string
      body: string | undefined
      headers: Record<string, string>
      isJson: boolean
    }) => {
      const type: Record<string, string> = isJson ? { 'Content-Type': 'application/json' } : {}
      let request: Request
      try {
        const hasBody = raw !== undefined && !/^(?:get|head)$/i.test(method)
        request = new Request(`http://localhost${target}`, {
          method,
          headers: { ...type, ...given },
          ...(hasBody && { body: raw }),
        })
      } catch {
        // No library sends such a request.
        return 0
      }
      const response = await api.app.fetch(request)
      const { status } = response
      ok(status < 500, `${method} ${target}: ${status}`)
      const media = response.headers.get('content-type') ?? ''
      if (media.includes('event-stream')) {
        await response.body?.cancel()
        return 1
      }
      const text = await response.text()
      if (status >= 400 && request.method !== 'HEAD') {
        ok(media === 'application/problem+json', `${method} ${target}: ${status} with ${media}`)
        const problem: unknown = JSON.parse(text)
        ok(
          typeof problem === 'object' && problem !== null && 'status' in problem && problem.status === status,
        )
      }
      return 1
    }
    return { give, close: async () => api.app.endStreams() }
  },
})
