import { describe, expect, test } from 'vitest'
import { explanationSchema, familyPageSchema, familySchema } from '../../../src/http/view-schemas.ts'
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
