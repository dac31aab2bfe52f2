import { beforeEach, describe, expect, test, vi } from 'vitest'
import { LoopTurns } from '../../../src/http/loop-turns.ts'
import { Api, expectProblem } from './api.ts'

/** Counts the steps that cost most; a body within the limits must not need many of them. */
const count = vi.hoisted(() => ({ nearest: 0, steps: [] as string[] }))
vi.mock('../../../src/core/options.ts', async (load) => {
  const module = await load<typeof import('../../../src/core/options.ts')>()
  const nearest: typeof module.nearest = (...names) => {
    count.nearest++
    return module.nearest(...names)
  }
  return { ...module, nearest }
})
vi.mock('../../../src/http/problem.ts', async (load) => {
  const module = await load<typeof import('../../../src/http/problem.ts')>()
  const pointerStep: typeof module.pointerStep = (name) => {
    count.steps.push(name)
    return module.pointerStep(name)
  }
  return { ...module, pointerStep }
})

beforeEach(() => {
  count.nearest = 0
  count.steps = []
})

const BATCH = '/v1/jobs'
const names = (many: number) =>
  Object.fromEntries(Array.from({ length: many }, (_, index) => [`n${index}`, 0]))
const zeros = (many: number) => Array.from({ length: many }, () => 0)

describe('a body', () => {
  test.each([
    ['at its top', '', (many: number) => ({ jobs: [], ...names(many) })],
    ['in a job', '/jobs/0', (many: number) => ({ jobs: [{ key: 'k', data: 1, ...names(many) }] })],
    [
      'in jobs',
      '/jobs/0',
      (many: number) => ({ jobs: zeros(many / 20).map(() => ({ key: 'k', data: 1, ...names(17) })) }),
    ],
  ])('with 18,000 unknown fields %s gets twenty faults, and no more are looked at', async (_, at, body) => {
    const answer = await new Api().post(BATCH, body(18_000))
    expectProblem(answer, 422, 'invalid')
    const { errors = [] } = answer.body
    expect(errors.length).toBeGreaterThanOrEqual(17)
    expect(errors.length).toBeLessThanOrEqual(20)
    expect(errors.some(({ pointer }) => pointer === `#${at}/n0`)).toBe(true)
    expect(count.nearest).toBeLessThanOrEqual(60)
    expect(count.steps.length).toBeLessThanOrEqual(200)
  })

  test('with a name as long as the body gets a fault with its beginning', async () => {
    const answer = await new Api().post(BATCH, { jobs: [], ['x'.repeat(1_000_000)]: 1 })
    expectProblem(answer, 422, 'invalid')
    expect(Math.max(...count.steps.map(({ length }) => length))).toBeLessThanOrEqual(256)
  })

  test('that is valid needs no pointer at all', async () => {
    const data = { list: zeros(10_000), ...names(5_000) }
    expect((await new Api().post(BATCH, { jobs: [{ key: 'k', data }] })).status).toBe(202)
    expect(count.steps).toEqual([])
  })

  test.each([
    ['zeros', `[${'0,'.repeat(400_000)}0]`],
    ['lists', '['.repeat(400_000) + ']'.repeat(400_000)],
    ['fields', `{${Array.from({ length: 50_000 }, (_, index) => `"n${index}":0`).join(',')}}`],
    ['texts', `[${'"a,[{",'.repeat(100_000)}""]`],
  ])('of too many values is refused before it is parsed: %s', async (_, data) => {
    const api = new Api()
    const parse = vi.spyOn(JSON, 'parse')
    const response = await api.raw('POST', BATCH, { raw: `{"jobs":[{"key":"k","data":${data}}]}` })
    expect(parse).not.toHaveBeenCalled()
    parse.mockRestore()
    expect(response.status).toBe(422)
    expect(await response.json()).toMatchObject({
      detail: 'expected at most 20000 fields, elements and values in a body, got more',
    })
  })

  test('may hold as many values as the configuration says; commas in texts are none', async () => {
    const api = new Api(undefined, { maxValues: 100 })
    const withData = (data: unknown) => api.post('/v1/buckets/k/jobs', { data })
    expect((await withData(zeros(98))).status).toBe(202)
    expect((await withData(zeros(99))).status).toBe(422)
    expect((await withData('[{,"\\",'.repeat(1_000))).status).toBe(202)
  })

  test.each([
    `{"data":{"a":${'9'.repeat(400)},"a":1}}`,
    `{"data":{"a":-${'9'.repeat(60_000)},"a":1}}`,
    `{"data":{"a":${'1'.repeat(309)},"a":1}}`,
  ])('with a number beyond a double in a field that comes twice is refused: %#', async (raw) => {
    const onError = vi.fn()
    const api = new Api(undefined, { onError })
    expectProblem(await api.call('POST', '/v1/buckets/k/jobs', { raw }), 422, 'invalid', {
      detail: expect.stringContaining('integers that a double can hold'),
    })
    expect(onError).not.toHaveBeenCalled()
  })

  test('of a thousand jobs lets others be answered after every hundred', async () => {
    const api = new Api({ '*': '1000, 1/s' })
    const { enqueue } = api.shaper
    let [ofTurn, most] = [0, 0]
    api.shaper.enqueue = (...job) => {
      if (ofTurn++ === 0) setImmediate(() => (ofTurn = 0))
      most = Math.max(most, ofTurn)
      return enqueue.apply(api.shaper, job)
    }
    const jobs = zeros(1_000).map((data, index) => ({ key: 'k', data, id: `j${index}` }))
    const { status, body } = await api.post(BATCH, { jobs })
    expect([status, body['accepted']]).toEqual([202, 1_000])
    expect(most).toBe(100)
    // In their order, as ever.
    const positions = (body['verdicts'] as { position: number }[]).map(({ position }) => position)
    expect(positions).toEqual(zeros(1_000).map((_, index) => index + 1))
  })
})

describe('turns of the event loop', () => {
  test('are given to clients in turn, one each time the loop comes round', async () => {
    const turns = new LoopTurns()
    const given: string[] = []
    const work = async (client: string, times: number) => {
      const all = Array.from({ length: times }, () => turns.next(client).then(() => given.push(client)))
      await Promise.all(all)
    }
    const all = Promise.all([work('a', 4), work('b', 2), work('c', 1)])
    for (let round = 1; round <= 7; round++) {
      await new Promise((resolve) => setImmediate(resolve))
      expect(given.length).toBeLessThanOrEqual(round)
    }
    await all
    expect(given.join('')).toBe('abcabaa')
  })
})
