import { expect, test } from 'vitest'
import { settledSchema } from '../../../src/http/verdict-schemas.ts'
import { FreezeError } from '../../../src/index.ts'
import { Api, expectProblem, sha256 } from './api.ts'

const LIMIT = '9, 1/s, 100/minute, 1000 tokens/minute 400 each'

/** A job `j` of the key `a/b` that runs, and its handler's `settle`. */
async function running(limit = LIMIT, options: ConstructorParameters<typeof Api>[1] = {}) {
  const api = new Api({ '*': limit }, options)
  let own: ((amounts: Record<string, number>) => Promise<boolean>) | undefined
  let fail: (error: Error) => void = () => undefined
  api.shaper.work((job) => {
    own = (amounts) => job.settle(amounts)
    return new Promise((_, reject) => {
      fail = reject
    })
  })
  await api.shaper.enqueue('a/b', null, { id: 'j', costs: { tokens: 900 }, attempts: 2 })
  await api.pass(0)
  const settle = (body: unknown, path = '/v1/jobs/j/settle') => api.post(path, body)
  const tokensUsed = async () => {
    const { body } = await api.get('/v1/buckets/a%2Fb')
    return (body['quotas'] as { used: number }[])[1]!.used
  }
  return { api, settle, tokensUsed, own: () => own!, fail: (error: Error) => fail(error) }
}

test('a running attempt is settled once, also by the key of the job and by the number of the attempt', async () => {
  const { api, settle, tokensUsed, own } = await running()
  const events: unknown[] = []
  api.shaper.on('settled', (event) => void events.push(event))
  expect(await tokensUsed()).toBe(900)
  const other = await settle({ costs: { tokens: 5 }, attempt: 2 }, '/v1/jobs/j/settle?key=a')
  expect(other).toMatchObject({ status: 200, body: { settled: false } })
  expect(await tokensUsed()).toBe(900)
  const first = await settle({ costs: { tokens: 812 }, attempt: 1 }, '/v1/jobs/j/settle?key=a')
  expect([first.status, settledSchema.parse(first.body)]).toEqual([200, { settled: true }])
  expect(await tokensUsed()).toBe(812)
  expect((await settle({ costs: { tokens: 1 } })).body).toEqual({ settled: false })
  expect(await own()({ tokens: 2 })).toBe(false)
  expect(await tokensUsed()).toBe(812)
  expect(events).toMatchObject([{ id: 'j', key: 'a/b', attempt: 1, amounts: { tokens: 812 }, fence: 1 }])
})

test('its handler may be first, and nothing is settled before the start, between attempts and after the end', async () => {
  const { api, settle, tokensUsed, own, fail } = await running()
  expect(await own()({ tokens: 0 })).toBe(true)
  expect((await settle({ costs: { tokens: 7 } })).body).toEqual({ settled: false })
  expect(await tokensUsed()).toBe(0)
  await api.shaper.enqueue('a/b', null, { id: 'waits' })
  const waiting = await settle({ costs: { tokens: 7 } }, '/v1/jobs/waits/settle')
  expect(waiting).toMatchObject({ status: 200, body: { settled: false } })
  fail(new Error('again'))
  await api.pass(0)
  expect((await settle({ costs: { tokens: 7 } })).body).toEqual({ settled: false })
  await api.pass(5_000)
  // The second attempt, which counts its estimate until it is settled.
  expect((await settle({ costs: { tokens: 7 }, attempt: 1 })).body).toEqual({ settled: false })
  expect((await settle({ costs: { tokens: 7 } })).body).toEqual({ settled: true })
  fail(new Error('for good'))
  await api.pass(0)
  const ended = await settle({ costs: { tokens: 8 } })
  expect(ended).toMatchObject({ status: 200, body: { settled: false } })
})

test('a start that froze its key is named by its fence, and is not the one that has its number by now', async () => {
  const { api, settle, tokensUsed, fail } = await running(LIMIT.replace('1000', '2000'))
  fail(new FreezeError({ forMs: 100 }))
  await api.pass(5_000)
  for (const which of [{ attempt: 1 }, { fence: 1 }, { fence: 1, attempt: 1 }, { fence: 2, attempt: 2 }]) {
    expect((await settle({ costs: { tokens: 5 }, ...which })).body).toEqual({ settled: false })
  }
  expect(await tokensUsed()).toBe(1_800)
  expect((await settle({ costs: { tokens: 5 }, fence: 2 })).body).toEqual({ settled: true })
  expect(await tokensUsed()).toBe(905)
})

test('a job that is unknown, or not for the token, is answered with 404', async () => {
  const token = 'x'.repeat(32)
  const tokens = [
    { name: 'shop', sha256: sha256(token), scopes: ['enqueue'], prefixes: ['other'] },
    { name: 'reader', sha256: sha256(`${token}r`), scopes: ['read'] },
  ] as const
  const { api, settle } = await running(LIMIT, { tokens: [...tokens].map((each) => ({ ...each })) as never })
  const costs = { costs: { tokens: 1 } }
  expect((await settle(costs)).status).toBe(401)
  expectProblem(await api.post('/v1/jobs/j/settle', costs, { token }), 404, 'not-found')
  expectProblem(await api.post('/v1/jobs/j/settle', costs, { token: `${token}r` }), 403, 'forbidden')
  const open = await running()
  expectProblem(await open.settle(costs, '/v1/jobs/k/settle'), 404, 'not-found')
})

test('a unit that no quota counts is refused with those that there are, and nothing is changed', async () => {
  const { settle, tokensUsed } = await running()
  const answer = await settle({ costs: { tokens: 1, images: 2 } })
  expectProblem(answer, 422, 'unknown-unit', { units: ['tokens'] })
  expect(await tokensUsed()).toBe(900)
  expect((await settle({ costs: { tokens: 1 } })).body).toEqual({ settled: true })
  const plain = await running('9, 1/s')
  expectProblem(await plain.settle({ costs: { tokens: 1 } }), 422, 'unknown-unit', { units: [] })
})

test.each([
  ['no costs', {}, '#'],
  ['no unit', { costs: {} }, '#/costs'],
  ['text', { costs: { tokens: '812' } }, '#/costs/tokens'],
  ['a fraction', { costs: { tokens: 0.5 } }, '#/costs/tokens'],
  ['less than nothing', { costs: { tokens: -1 } }, '#/costs/tokens'],
  ['too much', { costs: { tokens: 1e10 } }, '#/costs/tokens'],
  ['far too much', { costs: { tokens: 1e21 } }, undefined],
  ['null', { costs: { tokens: null } }, '#/costs/tokens'],
  ['a number', { costs: 812 }, '#/costs'],
  ['a list', { costs: [812] }, '#/costs'],
  ['no name', { costs: { 'to kens': 1 } }, '#/costs'],
  ['too many units', { costs: Object.fromEntries([...'abcdefghi'].map((unit) => [unit, 1])) }, '#/costs'],
  ['a list as a body', [{ costs: { tokens: 1 } }], undefined],
  ['an unknown field', { costs: { tokens: 1 }, epoch: 1 }, undefined],
  ['fence 0', { costs: { tokens: 1 }, fence: 0 }, '#/fence'],
  ['a fence as text', { costs: { tokens: 1 }, fence: '1' }, '#/fence'],
  ['attempt 0', { costs: { tokens: 1 }, attempt: 0 }, '#/attempt'],
  ['an attempt as text', { costs: { tokens: 1 }, attempt: '1' }, '#/attempt'],
])('%s is refused, and nothing is changed', async (_, body, pointer) => {
  const { settle, tokensUsed } = await running()
  const answer = await settle(body)
  expectProblem(answer, 422, 'invalid')
  if (pointer !== undefined) expect(answer.body.errors![0]!.pointer).toMatch(new RegExp(`^${pointer}`))
  expect(await tokensUsed()).toBe(900)
})

test('a body that is too long, no JSON or missing is refused', async () => {
  const { api } = await running()
  const path = '/v1/jobs/j/settle'
  const long = JSON.stringify({ costs: { tokens: 1 } }).padEnd(1_048_576)
  expectProblem(await api.call('POST', path, { raw: long }), 413, 'too-large')
  expectProblem(await api.call('POST', path, { raw: 'tokens=812' }), 400, 'bad-request')
  expectProblem(await api.call('POST', path), 415, 'unsupported-media-type')
})
