import { describe, expect, test, vi } from 'vitest'
import { InvalidKeyError, InvalidLimitError, InvalidOptionsError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

describe('a preview', () => {
  test('returns what a change by hand would do, and changes nothing', async () => {
    const stage = new Stage({ '*': '10, 10/s', 'vip/*': '10, 1/s' })
    await stage.fill('a', 8)
    await stage.fill('vip/b', 3)
    const before = [stage.shaper.limits.list(), await stage.shaper.buckets(), await stage.shaper.audit()]
    const events: unknown[] = []
    stage.shaper.on('limit', (event) => void events.push(event))
    expect(await stage.shaper.limits.preview({ set: ['*', '5, 2/s'] })).toEqual({
      version: expect.any(Number),
      buckets: 2,
      affected: 1,
      waiting: 8,
      overfull: 1,
      drainMs: { before: 800, after: 4_000 },
      ungoverned: 0,
      samples: [
        {
          key: 'a',
          waiting: 8,
          before: { pattern: '*', limit: '10, 10/s', fill: 0.8, drainMs: 800 },
          after: { pattern: '*', limit: '5, 2/s', fill: 1.6, drainMs: 4_000 },
        },
      ],
    })
    expect([stage.shaper.limits.list(), await stage.shaper.buckets(), await stage.shaper.audit()]).toEqual(
      before,
    )
    expect(events).toEqual([])
  })

  test('of unset and reset is that of what code then says, or of no rule', async () => {
    const stage = new Stage({ '*': '10, 10/s', a: '10, 5/s' })
    await stage.shaper.limits.set('a', '10, 1/s')
    await stage.shaper.limits.set('b/*', '10, 1/s')
    await stage.fill('a', 4)
    await stage.fill('b/c', 2)
    const { limits } = stage.shaper
    const afterOf = async (change: Parameters<typeof limits.preview>[0]) =>
      (await limits.preview(change)).samples.map(({ key, after }) => [key, after?.pattern, after?.limit])
    expect(await afterOf({ unset: 'a' })).toEqual([['a', '*', '10, 10/s']])
    expect(await afterOf({ reset: 'a' })).toEqual([['a', 'a', '10, 5/s']])
    expect(await afterOf({ unset: 'b/*' })).toEqual([['b/c', '*', '10, 10/s']])
    await limits.unset('*')
    expect(await afterOf({ unset: 'b/*' })).toEqual([['b/c', undefined, undefined]])
    expect(await limits.preview({ unset: 'b/*' })).toMatchObject({ affected: 1, ungoverned: 1, waiting: 2 })
    expect(await afterOf({ reset: '*' })).toEqual([])
  })

  test.each([
    ['what is not there', { unset: 'nothing' }],
    ['what was not set by hand', { reset: '*' }],
    ['the limit that it has', { set: ['*', '10, 10/s'] }],
    ['a pattern that no bucket has', { set: ['other/*', '1, 1/s'] }],
  ] as const)('of %s affects no bucket', async (_, change) => {
    const stage = new Stage('10, 10/s')
    await stage.fill('a', 2)
    expect(await stage.shaper.limits.preview(change)).toEqual({
      version: expect.any(Number),
      buckets: 1,
      affected: 0,
      waiting: 0,
      overfull: 0,
      drainMs: { before: 0, after: 0 },
      ungoverned: 0,
      samples: [],
    })
  })

  test.each([
    [{ set: ['*', '10'] }, InvalidLimitError, 'invalid-limit', /"10"/],
    [{ set: ['a*', '10, 1/s'] }, InvalidKeyError, 'invalid-key', /stand alone/],
    [{ set: ['*'] }, InvalidOptionsError, 'invalid-options', /set to be a pattern and a limit/],
    [{ set: '*' }, InvalidOptionsError, 'invalid-options', /set to be a pattern and a limit/],
    [{ unset: '' }, InvalidKeyError, 'invalid-key', /1 to 256 bytes/],
    [{ reset: 5 }, InvalidKeyError, 'invalid-key', /a string, got: 5/],
    [{ reset: null }, InvalidKeyError, 'invalid-key', /a string, got: null/],
    [{}, InvalidOptionsError, 'invalid-options', /one of set, unset and reset, got: none/],
    [{ unset: 'a', reset: 'a' }, InvalidOptionsError, 'invalid-options', /got: unset and reset/],
    [{ sett: ['*', '1, 1/s'] }, InvalidOptionsError, 'invalid-options', /did you mean set\?/],
    [undefined, InvalidOptionsError, 'invalid-options', /limits\.preview/],
  ])('refuses %j', async (change, error, code, message) => {
    const stage = new Stage('5, 1/s')
    await stage.refuses((shaper) => shaper.limits.preview(change as never), error, code, message)
  })

  test('counts jobs that are to be tried again', async () => {
    const stage = new Stage('10, 1/s', { jobDefaults: { attempts: 2, backoff: 60_000 } })
    stage.shaper.work(() => {
      throw new Error('again')
    })
    await stage.fill('k', 3)
    await stage.pass(0)
    expect(await stage.shaper.inspect('k')).toMatchObject({ waiting: 3, retrying: 1, fill: 0.3 })
    const { samples, overfull } = await stage.shaper.limits.preview({ set: ['*', '2, 2/s'] })
    expect(overfull).toBe(1)
    expect(samples).toMatchObject([
      { waiting: 3, before: { drainMs: 3_000 }, after: { drainMs: 1_500, fill: 1.5 } },
    ])
  })

  test('shows the twenty that it changes most', async () => {
    const stage = new Stage('100, 10/s')
    for (let n = 1; n <= 30; n++) await stage.fill(`k${n}`, n)
    const { affected, samples } = await stage.shaper.limits.preview({ set: ['*', '100, 1/s'] })
    expect(affected).toBe(30)
    expect(samples.map(({ waiting }) => waiting)).toEqual(Array.from({ length: 20 }, (_, n) => 30 - n))
  })

  test('lets other work run between pages', async () => {
    const stage = new Stage('5, 1/s')
    await stage.shaper.enqueueMany(Array.from({ length: 1_000 }, (_, n) => ({ key: `k${n}`, data: n })))
    let turns = 0
    const count = () => {
      turns++
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    const { buckets } = await stage.shaper.limits.preview({ set: ['*', '5, 2/s'] })
    clearImmediate(next)
    expect(buckets).toBe(1_000)
    expect(turns).toBeGreaterThanOrEqual(5)
  })

  test('leaves out buckets that the client may not see', async () => {
    const stage = new Stage('5, 1/s')
    for (const key of ['a/1', 'a/2', 'b/1']) await stage.fill(key, 2)
    const sees = vi.fn((key: string) => key.startsWith('a/'))
    const found = await stage.shaper.limits.preview({ set: ['*', '5, 2/s'] }, sees)
    expect(found).toMatchObject({ buckets: 2, affected: 2, waiting: 4 })
    expect(found.samples.map(({ key }) => key)).toEqual(['a/1', 'a/2'])
  })

  test('counts with what the quotas count already, before and after', async () => {
    const stage = new Stage('20, 10/s, 5/minute')
    await stage.fill('a', 8)
    stage.shaper.work(() => 0)
    await stage.pass(30_000)
    expect(await stage.shaper.inspect('a')).toMatchObject({ waiting: 3, quotas: [{ used: 5 }] })
    const drain = async (limit: string) => (await stage.shaper.limits.preview({ set: ['*', limit] })).drainMs
    // The first of five came at 0, and counts until the sixtieth is over in which it did.
    const room = 31_000
    expect(await drain('20, 10/s, 4/minute')).toEqual({ before: room, after: room, isEstimate: true })
    expect(await drain('20, 10/s, 2/minute')).toMatchObject({ before: room, after: room + 60_000 })
    // More of the quota may be left; and one of another window counts otherwise.
    expect(await drain('20, 10/s, 9/minute')).toMatchObject({ before: room, after: 300 })
    expect(await drain('20, 1/s, 5/hour')).toMatchObject({ before: room, after: 3_000 })
    expect(await drain('20, 1/s')).toMatchObject({ before: room, after: 3_000 })
  })

  test('says how many jobs alone exceed what would apply', async () => {
    const stage = new Stage('20, 10/s, 1000 tokens/minute 10 each')
    for (const tokens of [100, 300, 500]) {
      await stage.shaper.enqueue('a', 0, { cost: 2, costs: { tokens } })
    }
    await stage.fill('b', 4)
    const tooCostly = async (limit: string) =>
      (await stage.shaper.limits.preview({ set: ['*', limit] })).tooCostly
    expect(await tooCostly('20, 10/s, 299 tokens/minute 10 each')).toEqual({ jobs: 2, looked: 7 })
    expect(await tooCostly('1, 10/s')).toEqual({ jobs: 3, looked: 7 })
    expect(await tooCostly('20, 10/s, 500 tokens/minute 10 each')).toBeUndefined()
  })
})
