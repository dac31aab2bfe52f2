import { parseList } from 'structured-headers'
import { describe, expect, test, vi } from 'vitest'
import { explanationSchema, familyPageSchema, familySchema } from '../../../src/http/view-schemas.ts'
import { BackendUnavailableError } from '../../../src/index.ts'
import { Api, expectProblem, sha256 } from './api.ts'

const LIMITS = { '*': '9, 10/s', '*/': '20, 1/s', 'a/b/': '4, 2/s' }

async function stocked(options?: ConstructorParameters<typeof Api>[1], token?: string): Promise<Api> {
  const api = new Api(LIMITS, options)
  for (const key of ['a/b/c', 'a/b/d', 'a/e', 'b/c']) {
    const { status } = await api.enqueue(
      encodeURIComponent(key),
      { data: 1, id: key.replaceAll('/', '-') },
      { ...(token && { token }) },
    )
    expect(status).toBe(202)
  }
  return api
}

describe('totals over HTTP', () => {
  test('are read by their paths', async () => {
    const api = await stocked()
    const { status, body } = await api.get('/v1/buckets/a%2F')
    expect(status).toBe(200)
    expect(familySchema.parse(body)).toMatchObject({
      path: 'a/',
      pattern: '*/',
      waiting: 3,
      capacity: 20,
      children: 2,
    })
    expect((await api.get('/v1/buckets/a%2Fb%2F')).body).toMatchObject({
      path: 'a/b/',
      total: 'a/',
      waiting: 2,
    })
    expectProblem(await api.get('/v1/buckets/c%2F'), 404, 'not-found')
    expect((await api.get('/v1/buckets/a%2Fb%2Fc')).body).toMatchObject({ key: 'a/b/c', total: 'a/b/' })
  })

  test('are listed in pages', async () => {
    const api = await stocked()
    const first = familyPageSchema.parse((await api.get('/v1/families?limit=2')).body)
    expect(first.families.map(({ path }) => path)).toEqual(['a/b/', 'a/'])
    expect(first.total).toBe(3)
    const rest = familyPageSchema.parse((await api.get(`/v1/families?limit=2&cursor=${first.cursor}`)).body)
    expect(rest.families.map(({ path }) => path)).toEqual(['b/'])
    const below = familyPageSchema.parse((await api.get('/v1/families?under=a&sort=path')).body)
    expect(below.families.map(({ path }) => path)).toEqual(['a/', 'a/b/'])
    expectProblem(await api.get('/v1/families?sort=pattern'), 422, 'invalid')
  })

  test('say in an explanation whose turn it is', async () => {
    const api = await stocked()
    // Without a worker nothing says how long it waits.
    api.shaper.work(() => undefined)
    const { body } = await api.get('/v1/jobs/a-b-d/explanation')
    const explanation = explanationSchema.parse(body)
    expect(explanation.totals?.map(({ total }) => total)).toEqual(['a/b/', 'a/'])
    expect(explanation.waitMsAtMost).toBeGreaterThan(0)
  })

  test('are shown to those alone who may see all of the family', async () => {
    const tokens = [
      { name: 'ops', sha256: sha256('ops'), scopes: ['admin'] as const, prefixes: [] },
      { name: 'one', sha256: sha256('one'), scopes: ['read'] as const, prefixes: ['a/b'] },
      { name: 'two', sha256: sha256('two'), scopes: ['read'] as const, prefixes: ['a', 'b'] },
    ]
    const api = await stocked({ tokens }, 'ops')
    const paths = async (query: string, token: string) => {
      const { body } = await api.get(`/v1/families${query}`, { token })
      return familyPageSchema.parse(body).families.map(({ path }) => path)
    }
    expect(await paths('', 'one')).toEqual(['a/b/'])
    expect(await paths('?under=b', 'two')).toEqual(['b/'])
    expectProblem(await api.get('/v1/families?under=a', { token: 'one' }), 403, 'forbidden')
    expectProblem(await api.get('/v1/families', { token: 'two' }), 403, 'forbidden')
    expectProblem(await api.get('/v1/buckets/a%2F', { token: 'one' }), 403, 'forbidden')
  })
})

describe('the RateLimit fields of a key below totals', () => {
  const policies = ({ headers }: { headers: Headers }) =>
    parseList(headers.get('ratelimit-policy')!).map(([name, given]) => [name, Object.fromEntries(given)])
  const left = ({ headers }: { headers: Headers }) =>
    Object.fromEntries(
      parseList(headers.get('ratelimit')!).map(([name, given]) => [name, Object.fromEntries(given)]),
    )

  test('have each total as policies of their own, named after its pattern', async () => {
    const api = new Api({ '*': '9, 10/s', '*/': '20, 1/s, 50/day, 3 at once', 'a/b/': '4, 2/s' })
    await api.enqueue('a%2Fe')
    await api.enqueue('a%2Fb%2Fd')
    const answer = await api.enqueue('a%2Fb%2Fc')
    expect(answer.status).toBe(202)
    expect(policies(answer)).toEqual([
      ['*', { q: 9, w: 1 }],
      ['*/', { q: 20, w: 20 }],
      ['*/ 50/day', { q: 50, w: 86_400 }],
      ['*/ 3 at once', { q: 3, qu: 'concurrent-requests' }],
      ['a/b/', { q: 4, w: 2 }],
    ])
    expect(left(answer)).toEqual({
      '*': { r: 8, t: 0 },
      '*/': { r: 17, t: 0 },
      '*/ 50/day': { r: 50 },
      '*/ 3 at once': { r: 3, qu: 'concurrent-requests' },
      'a/b/': { r: 2, t: 0 },
    })
  })

  test('say when a total lets the next job of its family go, and that of the key waits for it, too', async () => {
    const api = new Api({ '*': '9, 10/s', 'a/': '20, 1/m, 5 at once' })
    api.shaper.work(() => new Promise(() => undefined))
    await api.enqueue('a%2Fx')
    await api.pass(0)
    const answer = await api.enqueue('a%2Fy')
    expect(left(answer)).toEqual({
      '*': { r: 8, t: 60 },
      'a/': { r: 19, t: 60 },
      'a/ 5 at once': { r: 4, qu: 'concurrent-requests' },
    })
  })

  test('of a refusal say what is left of what refused, and name the others', async () => {
    const api = new Api({ '*': '3, 10/s', 'a/': '4, 1/s' })
    for (let job = 0; job < 3; job++) expect((await api.enqueue('a%2Fx')).status).toBe(202)
    const byKey = await api.enqueue('a%2Fx')
    expectProblem(byKey, 429, 'queue-full')
    expect(byKey.body['violated-policies']).toEqual(['*'])
    expect(Object.keys(left(byKey))).toEqual(['*'])
    await api.enqueue('a%2Fy')
    const byTotal = await api.enqueue('a%2Fz')
    expectProblem(byTotal, 429, 'queue-full')
    expect(byTotal.body).toMatchObject({ at: 'a/', 'violated-policies': ['a/'] })
    expect(Object.keys(left(byTotal))).toEqual(['a/'])
    expect(left(byTotal)['a/']).toMatchObject({ r: 0 })
    for (const answer of [byKey, byTotal]) {
      expect(policies(answer).map(([name]) => name)).toEqual(expect.arrayContaining(['*', 'a/']))
    }
  })

  test('leave out what is left where the store is away, and keep the verdict', async () => {
    const api = new Api({ '*': '9, 10/s', 'a/': '20, 1/s' })
    vi.spyOn(api.shaper, 'inspect').mockRejectedValue(new BackendUnavailableError('away'))
    const answer = await api.enqueue('a%2Fx')
    expect(answer.status).toBe(202)
    expect(policies(answer).map(([name]) => name)).toEqual(['*', 'a/'])
    expect(Object.keys(left(answer))).toEqual(['*'])
  })

  test('a key without totals is not read again', async () => {
    const api = new Api({ '*': '9, 10/s', 'a/': '20, 1/s' })
    const inspected = vi.spyOn(api.shaper, 'inspect')
    expect((await api.enqueue('b')).headers.get('ratelimit')).toBe('"*";r=8;t=0')
    expect(inspected).not.toHaveBeenCalled()
  })
})
