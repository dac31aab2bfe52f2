import { Validator } from '@seriousme/openapi-schema-validator'
import { type Document, OpenAPIClientAxios } from 'openapi-client-axios'
import { expect, test } from 'vitest'
import { PROBLEMS } from '../../../src/http/problem.ts'
import { Api, sha256 } from './api.ts'
import { serve } from './raw-client.ts'

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly security: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: object }>>
  }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly headers: Readonly<Record<string, object>>
        readonly content?: Readonly<Record<string, { readonly schema: object }>>
      }
    >
  >
}

async function describe(api = new Api()) {
  const { status, body } = await api.get('/openapi.json')
  expect(status).toBe(200)
  const paths = body['paths'] as Record<string, Record<string, Described>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return { document: body as unknown as Document, operations }
}

test('the description is valid OpenAPI 3.1', async () => {
  const { document } = await describe()
  const validator = new Validator()
  expect(await validator.validate({ ...document })).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('every operation has an id of its own, a summary, and says whether it takes a token', async () => {
  const { operations } = await describe()
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(operations.length)
  const open = operations.filter(({ operation }) => operation.security.length === 0)
  expect(open.map(({ path }) => path).sort()).toEqual(['/', '/healthz', '/openapi.json', '/readyz'])
  for (const { operation } of operations) {
    expect(operation.summary).not.toBe('')
    expect([[], [{ token: [] }, {}]]).toContainEqual(operation.security)
  }
})

test('every answer is described: its headers, its body, and every problem by its name', async () => {
  const { operations } = await describe()
  const named = new Set<string>()
  for (const { path, operation } of operations) {
    for (const [status, { description, headers, content }] of Object.entries(operation.responses)) {
      expect(Object.keys(headers), `${path} ${status}`).toContain('X-Request-Id')
      if (status === '503' || status === '429') expect(Object.keys(headers)).toContain('Retry-After')
      if (Number(status) < 400) expect(content === undefined).toBe(['204', '304'].includes(status))
      else
        expect(content).toEqual({
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        })
      for (const [, name] of description.matchAll(/`([a-z-]+)`: /g)) named.add(name!)
    }
    expect(Object.keys(operation.responses)).toContain('500')
    if (operation.security.length > 0)
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['401', '403']))
  }
  // These are answered before the operation is known.
  const ofNone = ['request-timeout', 'headers-too-large']
  expect([...named, ...ofNone].sort()).toEqual(Object.keys(PROBLEMS).sort())
})

test('every parameter and every body is described', async () => {
  const { operations } = await describe()
  const seen = operations.map(({ method, path, operation }) => [
    `${method} ${path}`,
    (operation.parameters ?? []).map((parameter) => `${parameter.in}:${parameter.name}`).sort(),
    Object.keys(operation.requestBody?.content ?? {}),
  ])
  const json = ['application/json']
  const bucketQuery = [
    'cursor',
    'limit',
    'maxFill',
    'minFill',
    'minOldestWaitMs',
    'pattern',
    'prefix',
    'sort',
    'state',
    'under',
  ].map((name) => `query:${name}`)
  expect(seen).toEqual(
    expect.arrayContaining([
      ['post /v1/buckets/{key}/jobs', ['header:Idempotency-Key', 'path:key'], json],
      ['post /v1/jobs', ['header:Idempotency-Key'], json],
      ['get /v1/buckets', bucketQuery, []],
      ['get /v1/buckets/{key}/forecast', ['path:key', 'query:cost', 'query:costs'], []],
      ['get /v1/jobs/{id}', ['path:id', 'query:key'], []],
      ['get /v1/jobs/{id}/explanation', ['path:id', 'query:key'], []],
      ['get /v1/buckets/{key}/line', ['path:key', 'query:limit'], []],
      ['get /v1/buckets/{key}/recent', ['path:key'], []],
      ['post /v1/buckets/{key}/freeze', ['path:key'], json],
      ['delete /v1/buckets/{key}/freeze', ['path:key'], []],
      ['post /v1/meters/{key}/fill', ['path:key'], json],
      ['get /v1/meters/{key}', ['path:key', 'query:amount', 'query:costs'], []],
      ['put /v1/limits/{pattern}', ['header:If-Match', 'path:pattern', 'query:dryRun', 'query:scope'], json],
      [
        'delete /v1/limits/{pattern}',
        ['header:If-Match', 'path:pattern', 'query:dryRun', 'query:override', 'query:scope'],
        [],
      ],
      ['get /v1/events', ['header:Last-Event-ID', ...bucketQuery, 'query:key', 'query:types'].sort(), []],
      ['get /v1/session', [], []],
    ]),
  )
  for (const { path, operation } of operations) {
    for (const parameter of operation.parameters ?? []) {
      if (parameter.in === 'path') expect(parameter.required).toBe(true)
    }
    // Nothing is one unit.
    const isNeeded = path !== '/v1/meters/{key}/fill'
    if (operation.requestBody !== undefined) expect(operation.requestBody.required).toBe(isNeeded)
  }
})

test('no schema combines closed objects, which no value could satisfy', async () => {
  const { document } = await describe()
  expect(JSON.stringify(document)).not.toContain('"allOf"')
})

test('a client generated from the description can call every operation', async () => {
  const tokens = [{ name: 'ops', sha256: sha256('t'), scopes: ['admin'] as const, prefixes: [] }]
  const metrics = async () => ({ contentType: 'text/plain', text: 'up 1\n' })
  const api = new Api({ '*': '2, 1/s' }, { tokens, metrics })
  const server = await serve(api, { hasTokens: true })
  const { document } = await describe(api)
  const factory = new OpenAPIClientAxios({
    definition: document,
    withServer: { url: server.url },
    axiosConfigDefaults: { headers: { Authorization: 'Bearer t' }, validateStatus: () => true },
  })
  const client = await factory.init()
  const call = async (operationId: string, parameters?: object | null, body?: unknown) => {
    const operation = client[operationId]
    if (typeof operation !== 'function') throw new Error(`the description has no operation ${operationId}`)
    const { status, data, headers } = await operation(parameters as never, body)
    return { status, data, headers }
  }
  const key = 'sms/acme +1'

  const first = await call('postBucketsKeyJobs', { key }, { data: { n: 1 }, id: 'x' })
  expect(first).toMatchObject({
    status: 202,
    data: { id: 'x', key, position: 1 },
    headers: { location: `/v1/jobs/x?key=${encodeURIComponent(key)}` },
  })
  const parameters = { key, 'Idempotency-Key': '"again"' }
  const second = await call('postBucketsKeyJobs', parameters, { data: 2 })
  const replayed = await call('postBucketsKeyJobs', parameters, { data: 2 })
  expect(replayed).toMatchObject({
    status: 202,
    data: { id: second.data.id },
    headers: { 'idempotent-replayed': 'true' },
  })
  const full = await call('postBucketsKeyJobs', { key }, { data: 3 })
  expect(full).toMatchObject({
    status: 429,
    data: { type: 'urn:velvet-rope:problem:queue-full' },
    headers: { 'retry-after': '1' },
  })
  expect(
    await call('postJobs', null, {
      jobs: [
        { key: 'a', data: 1 },
        { key, data: 1 },
      ],
    }),
  ).toMatchObject({
    status: 200,
    data: { accepted: 1, rejected: 1 },
  })

  expect(await call('getJobsId', { id: 'x' })).toMatchObject({
    status: 200,
    data: { state: 'waiting', data: { n: 1 } },
  })
  expect(await call('deleteJobsId', { id: 'x' })).toMatchObject({ status: 204 })
  expect(await call('getBuckets', { minFill: 0.5, sort: 'key' })).toMatchObject({
    status: 200,
    data: { total: 2 },
  })
  expect(await call('getBucketsKey', { key })).toMatchObject({ status: 200, data: { key, waiting: 1 } })
  expect(await call('getBucketsKeyForecast', { key, cost: 1 })).toMatchObject({
    status: 200,
    data: { accepted: true },
  })
  expect(await call('postBucketsKeyFreeze', { key }, { forMs: 1_000 })).toMatchObject({ status: 204 })
  expect(await call('postBucketsKeyPause', { key })).toMatchObject({ status: 204 })
  expect(await call('postBucketsKeyResume', { key })).toMatchObject({ status: 204 })

  expect(await call('postMetersKeyFill', { key }, { amount: 1.5 })).toMatchObject({
    status: 200,
    data: { key, accepted: true, level: 1.5 },
    headers: { 'ratelimit-policy': '"*";q=2;w=2' },
  })
  expect(await call('postMetersKeyFill', { key })).toMatchObject({
    status: 429,
    data: { type: 'urn:velvet-rope:problem:over-limit', retryAfterMs: 500 },
    headers: { 'retry-after': '1' },
  })
  expect(await call('getMetersKey', { key, amount: 0.5 })).toMatchObject({
    status: 200,
    data: { accepted: true },
  })
  expect(await call('deleteMetersKey', { key })).toMatchObject({ status: 204 })

  expect(await call('putLimitsPattern', { pattern: 'sms/*' }, { limit: '9, 1/s' })).toMatchObject({
    status: 200,
    data: { pattern: 'sms/*', origin: 'override', by: 'ops' },
  })
  expect(await call('getLimitsPattern', { pattern: 'sms/*' })).toMatchObject({ status: 200 })
  expect((await call('getLimits')).data.limits).toHaveLength(2)
  expect(await call('deleteLimitsPattern', { pattern: 'sms/*', override: 'only' })).toMatchObject({
    status: 204,
  })

  expect(await call('getHealthz')).toMatchObject({ status: 200, data: { status: 'ok' } })
  expect(await call('getReadyz')).toMatchObject({ status: 200, data: { status: 'ready' } })
  expect(await call('getMetrics')).toMatchObject({ status: 200, data: 'up 1\n' })
  expect(await call('getRoot')).toMatchObject({ status: 200 })
  expect((await call('getOpenapiJson')).data).toEqual(document)

  // Until the line is full; a client that waits for Retry-After finds room.
  expect(await call('postBucketsKeyJobs', { key }, { data: 4 })).toMatchObject({ status: 202 })
  const refused = await call('postBucketsKeyJobs', { key }, { data: 5 })
  expect(refused).toMatchObject({ status: 429 })
  api.shaper.work(() => undefined)
  await api.clock.advance(Number(refused.headers['retry-after']) * 1_000_000)
  expect(await call('postBucketsKeyJobs', { key }, { data: 5 })).toMatchObject({ status: 202 })
})
