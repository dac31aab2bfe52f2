import { expect, test } from 'vitest'
import type { HttpEnv } from '../../../src/http/route.ts'
import { Api, type Call, sha256 } from './api.ts'
import { RawClient, serve } from './raw-client.ts'

const PAGE = new Map(
  ['/', '/assets/app.js', '/icon.svg'].map((path) => [
    path,
    { contentType: 'text/html; charset=utf-8', body: new Uint8Array([60]), etag: '"v1"' },
  ]),
)
const TOKENS = [
  { name: 'ops', sha256: sha256('t'), scopes: ['admin'] as const, prefixes: [] },
  { name: 'none', sha256: sha256('weak'), scopes: ['enqueue', 'read'] as const, prefixes: ['other'] },
  { name: 'reader', sha256: sha256('enqueuer'), scopes: ['enqueue'] as const, prefixes: ['other'] },
  { name: 'slow', sha256: sha256('slow'), scopes: ['admin'] as const, prefixes: [], limit: '1, 1/day' },
]

/** A service that can reach each state that an operation reports. */
async function stage() {
  const metrics = async () => ({ contentType: 'text/plain', text: 'up 1\n' })
  const api = new Api(
    { 'k/*': '2, 1/s', 'k/': '9, 1/s', 'm/*': '2, 1/s', full: '1, 1/h' },
    { tokens: TOKENS, metrics, dashboard: PAGE, bodyLimitBytes: 1_024, batchLimitBytes: 1_024, maxRules: 1 },
  )
  const ops = { token: 't' }
  const worker = api.shaper.work(() => undefined)
  await api.shaper.enqueue('k/gone', 1, { id: 'gone' })
  await api.pass(0)
  await worker.close()
  await api.enqueue('k/live', { data: 1, id: 'waiting' }, ops)
  await api.enqueue('k/live', { data: 1, id: 'cancelled' }, ops)
  await api.enqueue('full', { data: 1, id: 'x' }, ops)
  await api.post('/v1/buckets/k%2Ffrozen/freeze', { forMs: 60_000 }, ops)
  return api
}

const INVALID_LIMIT = { body: { limit: 'nonsense' } }
/** What each operation is sent, beside what all are: method and path of the description, paths, and calls. */
const CALLS: Readonly<Record<string, readonly (readonly [path: string, call?: Call])[]>> = {
  'post /v1/buckets/{key}/jobs': [
    ['/v1/buckets/k%2Fa/jobs', { body: { data: 1 } }],
    ['/v1/buckets/full/jobs', { body: { data: 1 } }],
    ['/v1/buckets/k%2Fa/jobs', { body: {} }],
  ],
  'post /v1/jobs': [
    ['/v1/jobs', { body: { jobs: [{ key: 'k/a', data: 1 }] } }],
    ['/v1/jobs', { body: { jobs: ['k/b', 'full'].map((key) => ({ key, data: 1 })) } }],
    ['/v1/jobs', { body: { jobs: [{ key: 'full', data: 1 }] } }],
    ['/v1/jobs', { body: { jobs: [] } }],
  ],
  'get /v1/jobs/{id}': [['/v1/jobs/waiting'], ['/v1/jobs/unknown'], ['/v1/jobs/waiting?key=']],
  'get /v1/jobs/{id}/explanation': [
    ['/v1/jobs/waiting/explanation'],
    ['/v1/jobs/unknown/explanation'],
    ['/v1/jobs/waiting/explanation?key='],
  ],
  'post /v1/jobs/{id}/settle': [
    ['/v1/jobs/waiting/settle', { body: { costs: { tokens: 1 } } }],
    ['/v1/jobs/unknown/settle', { body: { costs: { tokens: 1 } } }],
    ['/v1/jobs/waiting/settle', { body: { costs: {} } }],
  ],
  'delete /v1/jobs/{id}': [
    ['/v1/jobs/cancelled'],
    ['/v1/jobs/gone'],
    ['/v1/jobs/unknown'],
    ['/v1/jobs/cancelled?key='],
  ],
  'get /v1/buckets': [['/v1/buckets'], ['/v1/buckets?sort=nonsense']],
  'get /v1/families': [['/v1/families'], ['/v1/families?sort=nonsense']],
  'get /v1/buckets/{key}': [
    ['/v1/buckets/k%2Flive'],
    ['/v1/buckets/k%2F'],
    ['/v1/buckets/k%2Fempty'],
    ['/v1/buckets/m%2F'],
  ],
  'get /v1/buckets/{key}/forecast': [['/v1/buckets/k%2Flive/forecast'], ['/v1/buckets/none/forecast']],
  'get /v1/buckets/{key}/line': [['/v1/buckets/k%2Flive/line'], ['/v1/buckets/k%2Fempty/line']],
  'get /v1/buckets/{key}/recent': [['/v1/buckets/k%2Flive/recent']],
  'post /v1/buckets/{key}/freeze': [['/v1/buckets/k%2Fb/freeze', { body: { forMs: 1 } }]],
  'delete /v1/buckets/{key}/freeze': [['/v1/buckets/k%2Ffrozen/freeze'], ['/v1/buckets/k%2Fempty/freeze']],
  'post /v1/buckets/{key}/pause': [['/v1/buckets/k%2Fb/pause']],
  'post /v1/buckets/{key}/resume': [['/v1/buckets/k%2Fb/resume']],
  'post /v1/meters/{key}/fill': [
    ['/v1/meters/m%2Fa/fill', { body: { amount: 2 } }],
    ['/v1/meters/m%2Fa/fill', { body: { amount: 1 } }],
    ['/v1/meters/m%2Fa/fill', { body: { amount: 9 } }],
  ],
  'get /v1/meters/{key}': [['/v1/meters/m%2Fa']],
  'delete /v1/meters/{key}': [['/v1/meters/m%2Fa']],
  'get /v1/limits': [['/v1/limits']],
  'get /v1/limits/{pattern}': [['/v1/limits/full'], ['/v1/limits/unknown']],
  'put /v1/limits/{pattern}': [
    ['/v1/limits/new', { body: { limit: '5, 1/s' } }],
    ['/v1/limits/second', { body: { limit: '5, 1/s' } }],
    ['/v1/limits/new', INVALID_LIMIT],
    ['/v1/limits/new', { body: { limit: '5, 1/s' }, headers: { 'If-Match': '"99"' } }],
  ],
  'delete /v1/limits/{pattern}': [
    ['/v1/limits/full?dryRun=true'],
    ['/v1/limits/unknown'],
    ['/v1/limits/full', { headers: { 'If-Match': '"99"' } }],
    ['/v1/limits/full'],
    ['/v1/limits/m%2F*'],
  ],
  'get /v1/events': [['/v1/events'], ['/v1/events?types=nonsense']],
  'get /v1/session': [['/v1/session']],
  'get /assets/{file}': [
    ['/assets/app.js'],
    ['/assets/app.js', { headers: { 'If-None-Match': '"v1"' } }],
    ['/assets/none.js'],
  ],
  'get /icon.svg': [['/icon.svg'], ['/icon.svg', { headers: { 'If-None-Match': '"v1"' } }]],
  'get /': [['/'], ['/', { headers: { Accept: 'text/html', 'If-None-Match': '"v1"' } }]],
  'get /healthz': [['/healthz']],
  'get /readyz': [['/readyz']],
  'get /metrics': [['/metrics']],
  'get /openapi.json': [['/openapi.json']],
}

/** What every operation is sent that has the part in question. */
function faulty(path: string, hasBody: boolean): readonly (readonly [path: string, call: Call])[] {
  const [subject] = /\{\w+\}/.exec(path) ?? []
  const at = (text: string) => path.replace(/\{\w+\}/, text)
  const valid = at('k%2Fa')
  const calls: [string, Call][] = [
    [valid, { token: 'wrong' }],
    [valid, { token: 'weak' }],
    [valid, { token: 'enqueuer' }],
    [valid, { headers: { 'Sec-Fetch-Site': 'cross-site' } }],
    [valid, { token: 'slow' }],
    [valid, { token: 'slow' }],
  ]
  if (subject !== undefined)
    calls.push([at('%FF'), {}], [at('x'.repeat(300)), {}], [at('../../../none'), {}], [at('.'), {}])
  if (hasBody) {
    const json = { 'Content-Type': 'application/json' }
    calls.push(
      [valid, { raw: '{', headers: json }],
      [valid, { raw: '{"nonsense":1}', headers: json }],
      [valid, { raw: 'a', headers: { 'Content-Type': 'text/plain' } }],
      [valid, { raw: `"${'x'.repeat(2_000)}"`, headers: json }],
    )
  }
  return calls
}

const through = (known: boolean, closing: boolean): HttpEnv['Bindings'] => ({
  velvetRope: { isKnownHost: () => known, isClosing: () => closing, needsToken: true },
})

test('what the description lists is what the server answers, operation by operation', async () => {
  const { body } = await (await stage()).get('/openapi.json')
  const paths = body['paths'] as Record<string, Record<string, { requestBody?: object; responses: object }>>
  const listed = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
    ),
  )
  expect(Object.keys(CALLS).sort()).toEqual([...listed.keys()].sort())
  const described: Record<string, number[]> = {}
  const answered: Record<string, number[]> = {}
  for (const [name, { requestBody, responses }] of listed) {
    const [method, path] = name.split(' ') as [string, string]
    const api = await stage()
    const seen = new Set<number>()
    const subjects = [...CALLS[name]!, ...faulty(path, requestBody !== undefined)]
    for (const [at, call = {}] of subjects) {
      const response = await api.raw(method.toUpperCase(), at, { token: 't', ...call })
      seen.add(response.status)
      await response.body?.cancel()
    }
    for (const env of [through(false, false), through(true, true)]) {
      const request = new Request(`http://localhost${CALLS[name]![0]![0]}`, { method: method.toUpperCase() })
      seen.add((await api.app.fetch(request, env)).status)
    }
    const client = await RawClient.to(await serve(api, { hasTokens: true }))
    client.send(`${method.toUpperCase()} ${CALLS[name]![0]![0]} HTTP/1.1`, 'Connection: close', '', '')
    seen.add(Number((await client.closed()).split(' ')[1]))
    // A fault of our own cannot be had; and where a dot leads depends on what is beside it.
    const isFree = (status: number) => status === 500 || (status === 405 && !seen.has(405))
    const statuses = Object.keys(responses).map(Number)
    described[name] = statuses.filter((status) => !isFree(status)).sort()
    answered[name] = [...seen].sort()
  }
  expect(described).toEqual(answered)
})

test('names its bounds, and that a token is asked for only where there are tokens', async () => {
  const { body } = await new Api().get('/openapi.json')
  const text = JSON.stringify(body)
  const { paths, components } = body as unknown as {
    paths: Record<
      string,
      Record<string, { parameters: { name: string; schema: object }[]; security: object[] }>
    >
    components: { schemas: Record<string, { properties: Record<string, object> }> }
  }
  const bounds = { minLength: 1, maxLength: 256 }
  expect(paths['/v1/buckets/{key}/jobs']!['post']!.parameters[0]).toMatchObject({
    name: 'key',
    schema: bounds,
  })
  expect(paths['/v1/buckets/{key}/jobs']!['post']!.security).toEqual([{ token: [] }, {}])
  expect(components.schemas['NewJobOfBatch']!.properties['key']).toMatchObject(bounds)
  expect(text).toContain('"capacity":{"type":"integer","minimum":1,"maximum":1000000000}')
  expect(text).toMatch(/"count":\{"type":"number","minimum":0\.000001,"maximum":1000000000\}/)
})
