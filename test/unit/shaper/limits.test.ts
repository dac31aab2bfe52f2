import { describe, expect, test } from 'vitest'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from '../../../src/index.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

describe('the book', () => {
  test('lists, resolves, sets and unsets', async () => {
    const { shaper } = new Stage({ '*': '5, 2/s', 'a/*': '3, 1/s' }, { limitsBy: 'app 7' })
    const ofCode = { origin: 'code', by: 'app 7', at: 0 }
    expect(shaper.limits.list()).toEqual([
      { pattern: '*', limit: '5, 2/s', ...ofCode },
      { pattern: 'a/*', limit: '3, 1/s', ...ofCode },
    ])
    expect(shaper.limits.resolve('a/b/c')).toEqual({ pattern: 'a/*', limit: '3, 1/s', ...ofCode })
    expect(await shaper.limits.set('a/b', { capacity: 7, rate: { count: 3, per: '1m' } })).toEqual({
      pattern: 'a/b',
      limit: '7, 3/m',
      origin: 'override',
      at: 0,
    })
    expect(shaper.limits.resolve('a/b/c').pattern).toBe('a/b')
    expect(await shaper.limits.unset('a/b')).toBe(true)
    expect(await shaper.limits.unset('a/b')).toBe(false)
    expect(shaper.limits.resolve('a/b/c').pattern).toBe('a/*')
  })

  test.each([
    ['*', '5', InvalidLimitError, 'invalid-limit', /"5"/],
    ['*', '5, 10', InvalidLimitError, 'invalid-limit', /10\/s/],
    ['*', '5, 0/s', InvalidLimitError, 'invalid-limit', /above 0/],
    ['*', '5, -1/s', InvalidLimitError, 'invalid-limit', /-1/],
    ['*', '5, NaN/s', InvalidLimitError, 'invalid-limit', /NaN/],
    ['*', '5, 5000/s', InvalidLimitError, 'invalid-limit', /tolerance/],
    ['*', '0, 1/s', InvalidLimitError, 'invalid-limit', /capacity/],
    ['*', '1.5, 1/s', InvalidLimitError, 'invalid-limit', /capacity/],
    ['*', { capacity: 5, rate: '1/s', burst: 3 }, InvalidLimitError, 'invalid-limit', /mean capacity/],
    ['*', { capacity: 5, rate: { count: 0, per: '1s' } }, InvalidLimitError, 'invalid-limit', /above 0/],
    ['*', { capacity: 5, rate: { count: Number.NaN, per: '1s' } }, InvalidLimitError, 'invalid-limit', /NaN/],
    ['*', { capacity: 5, rate: 10 }, InvalidLimitError, 'invalid-limit', /10\/s/],
    ['*', null, InvalidLimitError, 'invalid-limit', /null/],
    ['', '5, 1/s', InvalidKeyError, 'invalid-key', /pattern/],
    ['a*', '5, 1/s', InvalidKeyError, 'invalid-key', /stand alone/],
    ['a/__proto__', '5, 1/s', InvalidKeyError, 'invalid-key', /__proto__/],
  ])('refuses %j: %j, here and at birth', async (pattern, limit, error, code, message) => {
    const stage = new Stage('5, 2/s')
    await stage.fill('k', 2)
    await stage.refuses((shaper) => shaper.limits.set(pattern, limit as never), error, code, message)
    const birth = () => new Stage(JSON.parse(JSON.stringify({ [pattern]: limit })))
    if (!JSON.stringify(limit).includes('null')) expect(birth).toThrow(error)
  })

  test('__proto__ governs nothing, however it came in', () => {
    expect(() => new Stage(JSON.parse('{"__proto__": "5, 1/s"}'))).toThrow(InvalidKeyError)
    const stage = new Stage({ __proto__: '5, 1/s' } as never)
    expect(() => stage.shaper.limits.resolve('k')).toThrow(NoLimitError)
    expect(() => stage.shaper.limits.resolve('toString')).toThrow(NoLimitError)
  })
})

describe('a change reaches waiting jobs', () => {
  test.each([
    ['ten times faster', '20, 20/s', [0, 1_000, 1_200, 1_250, 1_300, 1_350]],
    ['ten times slower', '20, 0.2/s', [0, 500, 1_000, 6_000, 11_000, 16_000]],
  ])('%s: the new spacing counts from the last start, without a burst', async (_, limit, expected) => {
    const stage = new Stage(limit === '20, 20/s' ? '20, 1/s' : '20, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 6)
    await stage.pass(1_200)
    await stage.shaper.limits.set('*', limit)
    await stage.pass(100_000)
    expect(stage.startsOf('k')).toEqual(expected)
    await stage.conforms()
  })

  test('a faster limit applies immediately, and counts from the last start', async () => {
    const stage = new Stage('20, 1/m')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 3)
    await stage.pass(100)
    await stage.shaper.limits.set('k', '20, 1/s')
    expect(await stage.shaper.inspect('k')).toMatchObject({ pattern: 'k', nextDepartureAt: 1_000 })
    await stage.pass(5_000)
    expect(stage.startsOf('k')).toEqual([0, 1_000, 2_000])
    await stage.conforms()
  })

  test('the last start counts with its cost', async () => {
    const stage = new Stage('20, 1/s')
    stage.shaper.work(() => undefined)
    await stage.shaper.enqueue('k', 0, { id: 'k1', cost: 3 })
    await stage.shaper.enqueue('k', 0, { id: 'k2' })
    await stage.pass(100)
    await stage.shaper.limits.set('*', '20, 2/s')
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toEqual([0, 1_500])
    await stage.conforms()
  })

  test('back and forth makes no departure earlier', async () => {
    const stage = new Stage('50, 1/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 8)
    for (let n = 0; n < 40; n++) {
      await stage.shaper.limits.set('k', n % 2 === 0 ? '50, 10/s' : '50, 1/s')
      await stage.pass(35)
    }
    await stage.pass(60_000)
    await stage.conforms()
  })

  test('a bucket that is empty but not yet forgotten changes as well', async () => {
    const stage = new Stage('5, 1/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 1)
    await stage.pass(100)
    await stage.shaper.limits.set('*', '5, 0.1/s')
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ departsAt: 10_000 })
    await stage.conforms({ unfinished: true })
  })

  test('only the buckets that it governs', async () => {
    const stage = new Stage({ '*': '5, 1/s', 'a/b': '5, 2/s' })
    stage.shaper.work(() => undefined)
    await stage.fill('a/b', 3)
    await stage.fill('c', 3)
    await stage.shaper.limits.set('a', '5, 10/s')
    await stage.pass(9_000)
    expect([stage.startsOf('a-b'), stage.startsOf('c')]).toEqual([
      [0, 500, 1_000],
      [0, 1_000, 2_000],
    ])
    await stage.conforms()
  })
})

describe('capacity', () => {
  test('lowered below the depth drops no job; new jobs are refused until the line is below it', async () => {
    const stage = new Stage('5, 2/s')
    await stage.fill('k', 5)
    await stage.shaper.limits.set('*', '2, 2/s')
    expect(await stage.shaper.inspect('k')).toMatchObject({
      state: 'full',
      waiting: 5,
      capacity: 2,
      fill: 2.5,
    })
    stage.shaper.work(() => undefined)
    await stage.pass(0)
    const refused = await stage.shaper.enqueue('k', 0, { id: 'k6' })
    expect(refused).toMatchObject({ accepted: false, reason: 'full', waiting: 4, retryAfterMs: 1_500 })
    await stage.pass(1_499)
    expect(await stage.shaper.forecast('k')).toMatchObject({ accepted: false, retryAfterMs: 1 })
    await stage.pass(1)
    expect(await stage.shaper.enqueue('k', 0, { id: 'k6' })).toMatchObject({ accepted: true })
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toHaveLength(6)
    await stage.conforms()
  })

  test('lowered below the cost of a waiting job still lets it depart', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.enqueue('k', 0, { id: 'k1', cost: 5 })
    await stage.shaper.limits.set('*', '2, 2/s')
    stage.shaper.work(() => undefined)
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toEqual([0])
    await stage.conforms()
  })

  test('raised applies immediately', async () => {
    const stage = new Stage('1, 2/s')
    await stage.fill('k', 1)
    await stage.shaper.limits.set('*', '2, 2/s')
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ accepted: true })
  })
})

describe('a rule that is gone', () => {
  test('leaves the backlog to the next that matches', async () => {
    const stage = new Stage({ '*': '5, 2/s', k: '5, 1/s' })
    stage.shaper.work(() => undefined)
    await stage.fill('k', 3)
    await stage.shaper.limits.unset('k')
    expect(await stage.shaper.inspect('k')).toMatchObject({ pattern: '*', limit: '5, 2/s' })
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000])
    await stage.conforms()
  })

  test('and was the last leaves the backlog its limit, and refuses new jobs until there is one', async () => {
    const stage = new Stage({ k: '5, 1/s' })
    stage.shaper.work((job) => (job.id === 'k3' ? neverSettles() : undefined))
    await stage.fill('k', 3)
    await stage.pass(0)
    await stage.shaper.limits.unset('k')
    await stage.refuses((shaper) => shaper.enqueue('k', 0), NoLimitError, 'no-limit', /"k"/)
    await stage.refuses((shaper) => shaper.forecast('k'), NoLimitError, 'no-limit', /"k"/)
    await stage.refuses(
      (shaper) => shaper.enqueueMany([{ key: 'k', data: 0 }]),
      NoLimitError,
      'no-limit',
      /"k"/,
    )
    await stage.pass(3_000)
    expect(stage.startsOf('k')).toEqual([0, 1_000, 2_000])
    await stage.shaper.limits.set('k', '5, 0.1/s')
    expect(await stage.shaper.enqueue('k', 0)).toMatchObject({ accepted: true, departsAt: 12_000 })
    await stage.close({ drainMs: 0 })
    await stage.conforms()
  })

  test('an admitted id is still answered', async () => {
    const stage = new Stage({ k: '5, 1/s' })
    const first = await stage.shaper.enqueue('k', 0, { id: 'x' })
    await stage.shaper.limits.unset('k')
    expect(await stage.shaper.enqueue('k', 0, { id: 'x' })).toEqual({ ...first, replayed: true })
    expect(await stage.shaper.enqueueMany([{ key: 'k', data: 0, id: 'x' }])).toEqual([
      { ...first, replayed: true },
    ])
  })
})
