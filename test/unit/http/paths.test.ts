import { describe, expect, test } from 'vitest'
import { Api, expectProblem } from './api.ts'

/** The key that a job was admitted to, by the path that it was sent to. */
async function keyOf(path: string): Promise<unknown> {
  const { status, body } = await new Api().post(`/v1/buckets/${path}/jobs`, { data: 1 })
  return status === 202 ? body['key'] : `${status} ${String(body['type']).split(':').at(-1)}`
}

describe('a key in a path', () => {
  test.each([
    ['sms', 'sms'],
    ['sms/acme/+15551234', 'sms/acme/+15551234'],
    ['sms%2Facme%2F%2B1', 'sms/acme/+1'],
    ['a%2fb', 'a/b'],
    ['a//b', 'a//b'],
    ['/a', '/a'],
    ['%2Fa', '/a'],
    ['a%20b', 'a b'],
    ['a b', 'a b'],
    ['a+b', 'a+b'],
    ['a%3Fb%23c', 'a?b#c'],
    ['a%252Fb', 'a%2Fb'],
    ['a%25b', 'a%b'],
    ['caf%C3%A9', 'caf\u00e9'],
    ['caf\u00e9', 'caf\u00e9'],
    ['%F0%9F%8E%AB', '\u{1f3ab}'],
    ['a%5C..%5Cb', 'a\\..\\b'],
    ['a;b=c', 'a;b=c'],
    ['constructor', 'constructor'],
    ['jobs', 'jobs'],
    ['a/jobs', 'a/jobs'],
    ['a/freeze', 'a/freeze'],
    ['a%2Ffreeze', 'a/freeze'],
    ['v1/buckets/x', 'v1/buckets/x'],
    ['http://evil.example/x', 'http://evil.example/x'],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['%C3%A9'.repeat(128), '\u00e9'.repeat(128)],
  ])('%s is %s', async (path, key) => {
    expect(await keyOf(path)).toBe(key)
  })

  test.each([
    ['x'.repeat(257), '422 invalid'],
    [`${'%C3%A9'.repeat(128)}x`, '422 invalid'],
    ['a/', '422 invalid'],
    ['a%2F', '422 invalid'],
    ['/', '422 invalid'],
    ['a%00b', '422 invalid'],
    ['a%0Ab', '422 invalid'],
    ['a%0D%0ASet-Cookie:x', '422 invalid'],
    ['a%1Bb', '422 invalid'],
    ['a%7Fb', '422 invalid'],
    ['a%C2%85b', '422 invalid'],
    ['a/__proto__/b', '422 invalid'],
    ['a%2F..%2Fb', '422 invalid'],
    ['a%2F.', '422 invalid'],
    ['..%2Fa', '422 invalid'],
    ['__proto__', '422 invalid'],
    ['', '422 invalid'],
    ['a%ZZ', '400 bad-request'],
    ['a%', '400 bad-request'],
    ['a%F', '400 bad-request'],
    ['a%FF', '400 bad-request'],
    ['%C0%AF', '400 bad-request'],
    ['%ED%A0%80', '400 bad-request'],
    ['%F5%80%80%80', '400 bad-request'],
  ])('%s is answered with %s', async (path, answer) => {
    expect(await keyOf(path)).toBe(answer)
  })

  // A URL drops them before they are sent, and so does every server between.
  test.each([
    ['..', '/v1/jobs', 422],
    ['%2e%2E', '/v1/jobs', 422],
    ['.', '/v1/buckets/jobs', 405],
    ['%2e', '/v1/buckets/jobs', 405],
  ])('cannot be %s: what arrives is %s', async (segment, path, status) => {
    const api = new Api()
    const answer = await api.post(`/v1/buckets/${segment}/jobs`, { data: 1 })
    const asWritten = await api.post(path, { data: 1 })
    expect([answer.status, answer.body['detail']]).toEqual([status, asWritten.body['detail']])
    expect(asWritten.status).toBe(status)
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('stays what it is where a whole segment .. goes, and no other operation is called', async () => {
    const api = new Api()
    const answer = await api.call('PUT', '/v1/buckets/a/../../limits/x', { body: { limit: '7, 1/s' } })
    // As any client would have written it: PUT /v1/limits/x.
    expect(answer.status).toBe(200)
    expect(
      (await api.call('PUT', '/v1/buckets/a%2F..%2F..%2Flimits%2Fy', { body: { limit: '7, 1/s' } })).status,
    ).toBe(405)
    expect(api.shaper.limits.list().map(({ pattern }) => pattern)).toEqual(['*', 'x'])
  })

  test('that ends like a verb is named with %2F', async () => {
    const api = new Api()
    await api.enqueue('a')
    await api.enqueue('a%2Fforecast')
    expect((await api.get('/v1/buckets/a/forecast')).body).toMatchObject({ accepted: true, key: 'a' })
    expect((await api.get('/v1/buckets/a%2Fforecast')).body).toMatchObject({ key: 'a/forecast', jobs: 1 })
    expect((await api.get('/v1/buckets/a%2Fforecast/forecast')).body).toMatchObject({ key: 'a/forecast' })
  })
})

describe('what is not there', () => {
  test.each([
    ['GET', '/v1'],
    ['GET', '/v2/buckets'],
    ['GET', '/v1/buckets/'],
    ['GET', '/v1/jobs/'],
    ['GET', '/v1/limits/'],
    ['GET', '/healthz/'],
    ['GET', '/metrics.json'],
    ['GET', '//v1/buckets'],
    ['GET', '/V1/buckets'],
    ['GET', '/favicon.ico'],
    ['PROPFIND', '/nothing'],
  ])('%s %s is answered with 404', async (method, path) => {
    const answer = await new Api().call(method, path)
    expectProblem(answer, 404, 'not-found')
  })

  test.each([
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/v1/buckets/a', 'GET, HEAD'],
    ['POST', '/v1/buckets/a', 'GET, HEAD'],
    ['PUT', '/v1/buckets/a/jobs', 'POST, GET, HEAD'],
    ['PATCH', '/v1/limits/a', 'GET, HEAD, PUT, DELETE'],
    ['POST', '/v1/limits', 'GET, HEAD'],
    ['GET', '/v1/jobs', 'POST'],
    ['POST', '/v1/jobs/x', 'GET, HEAD, DELETE'],
    ['POST', '/v1/events', 'GET, HEAD'],
    ['OPTIONS', '/v1/jobs', 'POST'],
    ['TRACE', '/', 'GET, HEAD'],
    ['PURGE', '/openapi.json', 'GET, HEAD'],
  ])('%s %s is answered with 405, and what is: %s', async (method, path, allow) => {
    const api = new Api()
    const answer = await api.app.fetch(requestOf(method, path), {})
    expect(answer.status).toBe(405)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('allow')).toBe(allow)
  })
})

describe('HEAD', () => {
  test.each(['/', '/healthz', '/readyz', '/openapi.json', '/v1/buckets', '/v1/limits', '/v1/events'])(
    'of %s is answered like GET, without its body',
    async (path) => {
      const api = new Api()
      const { status, headers, body } = await api.call('HEAD', path)
      expect([status, body]).toEqual([200, ''])
      const get = await api.raw('GET', path)
      await get.body?.cancel()
      expect(headers.get('content-type')).toBe(get.headers.get('content-type'))
    },
  )
})

/** Also for methods that fetch does not send. */
function requestOf(method: string, path: string): Request {
  const request = new Request(`http://localhost${path}`)
  Object.defineProperty(request, 'method', { value: method })
  return request
}
