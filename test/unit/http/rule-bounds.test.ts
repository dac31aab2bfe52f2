import { expect, test, vi } from 'vitest'
import { LayeredBook } from '../../../src/core/layered-book.ts'
import { Api, expectProblem, sha256 } from './api.ts'

const tokens = [
  { name: 'ops', sha256: sha256('ops'), scopes: ['admin'] as const, prefixes: [] },
  { name: 'one', sha256: sha256('one'), scopes: ['admin'] as const, prefixes: ['a', 'b'] },
  { name: 'two', sha256: sha256('two'), scopes: ['admin'] as const, prefixes: ['b', 'c'] },
]

const put = (api: Api, pattern: string, token: string, query = '') =>
  api.call('PUT', `/v1/limits/${encodeURIComponent(pattern)}${query}`, { body: { limit: '5, 1/s' }, token })

test.each([
  ['in the rule book', ''],
  ['in this process', '?scope=local'],
])('rules %s are bounded for each token and each first segment', async (_, query) => {
  const api = new Api({ '*': '5, 2/s' }, { tokens, maxRules: 2 })
  for (const pattern of ['a/1', 'b/1']) expect((await put(api, pattern, 'one', query)).status).toBe(200)
  const refused = await put(api, 'a/2', 'one', query)
  expectProblem(refused, 409, 'too-many-rules', { atMost: 2 })
  expect(refused.body['detail']).toBe('expected at most 2 rules set by hand by "one", got: one more')
  expect((await put(api, 'b/2', 'two', query)).status).toBe(200)
  expectProblem(await put(api, 'b/3', 'two', query), 409, 'too-many-rules', {
    detail: 'expected at most 2 rules set by hand for patterns with the first segment "b", got: one more',
  })
  // What is known may be set anew, others are not concerned, and a removal makes room.
  expect((await put(api, 'a/1', 'one', query)).status).toBe(200)
  expect((await put(api, 'c/1', 'two', query)).status).toBe(200)
  expect((await api.call('DELETE', `/v1/limits/b%2F1${query}`, { token: 'one' })).status).toBe(204)
  expect((await put(api, 'a/2', 'one', query)).status).toBe(200)
})

test('rules of other layers that a token removes are bounded as well', async () => {
  const api = new Api({ '*': '5, 2/s', 'a/1': '5, 1/s', 'a/2': '5, 1/s' }, { tokens, maxRules: 1 })
  const remove = (pattern: string) =>
    api.call('DELETE', `/v1/limits/${encodeURIComponent(pattern)}`, { token: 'one' })
  expect((await remove('a/1')).status).toBe(204)
  expectProblem(await remove('a/2'), 409, 'too-many-rules', { atMost: 1 })
})

test('a rule that would make look-ups slow is refused with its bound', async () => {
  const api = new Api({ '*': '5, 2/s' }, { tokens })
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => put(api, `a/*${'/x'.repeat(n)}`, 'ops', '?scope=local')),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(64)
  expectProblem(answers.at(-1)!, 409, 'too-many-rules', { atMost: 64 })
})

test('a change of one rule looks up no bucket that it cannot concern', async () => {
  const api = new Api({ '*': '5, 2/s' }, { tokens })
  for (let n = 0; n < 50; n++) await api.shaper.enqueue(`c/${n}`, n)
  await api.shaper.enqueue('a/1', 1)
  const find = vi.spyOn(LayeredBook.prototype, 'find')
  expect((await put(api, 'a/*', 'one')).status).toBe(200)
  expect(find.mock.calls).toEqual([['a/1']])
  find.mockRestore()
  expect((await api.shaper.inspect('a/1'))?.pattern).toBe('a/*')
})
