import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { InvalidKeyError, InvalidLimitError, InvalidOptionsError, NoLimitError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

function listen(stage: Stage): string[] {
  const heard: string[] = []
  stage.shaper.on('limit', ({ pattern, limit, at }) => {
    heard.push(`${pattern} ${limit === undefined ? 'unset' : limit.capacity} ${at}`)
  })
  return heard
}

/** Who brings the limits of every stage here. */
const limitsBy = 'app 7'

describe('the author of a limit', () => {
  test('the program, a file, or a change by hand, and when', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s' }, { limitsFrom: 'file', limitsBy: 'limits.yaml' })
    const { limits } = stage.shaper
    await stage.pass(1_500)
    const set = { pattern: 'a', limit: '3, 1/s', origin: 'override', by: 'token ops', at: 1_500 }
    expect(await limits.set('a', '3, 1/s', { by: 'token ops' })).toEqual(set)
    expect(limits.resolve('a/b')).toEqual(set)
    const ofFile = { pattern: '*', limit: '5, 2/s', origin: 'file', by: 'limits.yaml', at: 0 }
    expect(limits.list()).toEqual([ofFile, set])
    await limits.load({ b: '2, 1/s', a: '9, 9/s' }, { by: 'release 3' })
    expect(limits.list()).toEqual([
      { pattern: 'b', limit: '2, 1/s', origin: 'code', by: 'release 3', at: 1_500 },
      set,
      ofFile,
    ])
  })

  test('this process, where no name is given', async () => {
    const stage = new Stage('5, 2/s')
    const { limits } = stage.shaper
    const by = `${hostname()}:${process.pid}`
    expect(limits.resolve('a')).toMatchObject({ by, at: 0 })
    await limits.load({ a: '1, 1/s' }, { origin: 'environment' })
    expect(limits.resolve('a')).toMatchObject({ origin: 'environment', by })
    expect(await limits.set('a', '2, 1/s')).not.toHaveProperty('by')
  })

  test('setting the same again changes neither the name nor the time', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s' }, { limitsBy })
    const { limits } = stage.shaper
    await limits.set('b', '3, 1/s', { by: 'ann' })
    await stage.pass(700)
    await limits.load({ a: '9, 1/s', '*': { capacity: 5, rate: '2 per second' } }, { by: 'release 4' })
    await limits.load({ a: '9, 1/s', '*': '5, 2/s' }, { by: 'release 5' })
    expect(await limits.set('b', '3, 60/m', { by: 'bob' })).toMatchObject({ limit: '3, 60/m', by: 'bob' })
    expect(await limits.set('b', { capacity: 3, rate: '60/m' }, { by: 'eve' })).toMatchObject({ by: 'bob' })
    expect(limits.list().map(({ pattern, by, at }) => [pattern, by, at])).toEqual([
      ['a', 'release 4', 700],
      ['*', limitsBy, 0],
      ['b', 'bob', 700],
    ])
  })

  test.each([
    [{ by: '' }, /by to be 1 to 256/],
    [{ by: 'x'.repeat(257) }, /1 to 256/],
    [{ by: 'two\nlines' }, /control/],
    [{ by: 7 }, /got: 7/],
    [{ who: 'me' }, /unknown option "who"/],
  ])('refuses %j', async (options, message) => {
    const stage = new Stage('5, 2/s')
    const [error, code] = [InvalidOptionsError, 'invalid-options'] as const
    const wrong = options as never
    await stage.refuses(({ limits }) => limits.set('a', '3, 1/s', wrong), error, code, message)
    await stage.refuses(({ limits }) => limits.unset('*', wrong), error, code, message)
    if (!('who' in options)) {
      await stage.refuses(({ limits }) => limits.load({ a: '3, 1/s' }, wrong), error, code, message)
      expect(() => new Stage('5, 2/s', { limitsBy: options.by as never })).toThrow(/limitsBy/)
    }
  })
})

describe('a load', () => {
  test('replaces what was loaded before, and says what changed', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s', b: '3, 2/s' }, { limitsFrom: 'file', limitsBy })
    const heard = listen(stage)
    await stage.pass(10)
    const loaded = await stage.shaper.limits.load(
      { '*': '5, 2/s', b: '7, 2/s', c: '1, 1/s' },
      { origin: 'file' },
    )
    expect(loaded).toEqual({
      set: [
        { pattern: 'b', limit: '7, 2/s', origin: 'file', by: limitsBy, at: 10 },
        { pattern: 'c', limit: '1, 1/s', origin: 'file', by: limitsBy, at: 10 },
      ],
      unset: ['a'],
    })
    expect(heard).toEqual(['b 7 10', 'c 1 10', 'a unset 10'])
    expect(stage.shaper.limits.list().map(({ pattern }) => pattern)).toEqual(['*', 'b', 'c'])
  })

  test('of what is in force changes nothing and emits nothing', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s' })
    const heard = listen(stage)
    const again = { a: { capacity: 4, rate: '2/s' }, '*': '5, 2/s' }
    expect(await stage.shaper.limits.load(again)).toEqual({ set: [], unset: [] })
    expect(await stage.shaper.limits.load(again, { origin: 'file' })).toEqual({ set: [], unset: [] })
    expect(heard).toEqual([])
    expect(stage.shaper.limits.resolve('a').origin).toBe('file')
  })

  test('of a file hides what code says, pattern by pattern, for as long as the file has them', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s' }, { limitsBy })
    const { limits } = stage.shaper
    const origins = () => limits.list().map(({ pattern, limit, origin }) => `${pattern} ${limit} ${origin}`)
    const loaded = await limits.load({ a: '9, 1/s', b: '3, 1/s' }, { origin: 'file' })
    expect(loaded.set.map(({ pattern }) => pattern)).toEqual(['a', 'b'])
    expect(origins()).toEqual(['* 5, 2/s code', 'a 9, 1/s file', 'b 3, 1/s file'])
    expect(await limits.load({}, { origin: 'file' })).toEqual({
      set: [{ pattern: 'a', limit: '4, 2/s', origin: 'code', by: limitsBy, at: 0 }],
      unset: ['b'],
    })
    expect(origins()).toEqual(['* 5, 2/s code', 'a 4, 2/s code'])
  })

  test('of the environment hides what the file says, and is hidden by what is set by hand', async () => {
    const stage = new Stage({ '*': '5, 2/s' })
    const { limits } = stage.shaper
    await limits.load({ '*': '6, 1/s', a: '7, 1/s' }, { origin: 'environment', by: 'VELVET_ROPE_LIMITS' })
    await limits.load({ '*': '8, 1/s', b: '9, 1/s' }, { origin: 'file' })
    await limits.set('a', '1, 1/s')
    expect(limits.list().map(({ pattern, limit, origin }) => `${pattern} ${limit} ${origin}`)).toEqual([
      '* 6, 1/s environment',
      'b 9, 1/s file',
      'a 1, 1/s override',
    ])
    await limits.reset('a')
    expect(limits.resolve('a')).toMatchObject({ limit: '7, 1/s', by: 'VELVET_ROPE_LIMITS' })
    await limits.load({}, { origin: 'environment' })
    expect(limits.resolve('a')).toMatchObject({ limit: '8, 1/s', origin: 'file' })
  })

  test('reaches waiting jobs', async () => {
    const stage = new Stage('20, 1/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 4)
    await stage.pass(100)
    await stage.shaper.limits.load({ '*': '20, 10/s' })
    await stage.pass(10_000)
    expect(stage.startsOf('k')).toEqual([0, 100, 200, 300])
    await stage.conforms()
  })

  test('of nothing unsets all, and new jobs are refused', async () => {
    const stage = new Stage('20, 1/s')
    expect(await stage.shaper.limits.load({})).toEqual({ set: [], unset: ['*'] })
    await stage.refuses((shaper) => shaper.enqueue('k', 0), NoLimitError, 'no-limit', /"k"/)
  })

  test.each([
    [{ a: '4, 1/s', b: 'nothing' }, {}, InvalidLimitError, 'invalid-limit', /"b"/],
    [{ a: '4, 1/s', 'b*': '4, 1/s' }, {}, InvalidKeyError, 'invalid-key', /stand alone/],
    [[], {}, InvalidLimitError, 'invalid-limit', /array/],
    [{ a: '4, 1/s' }, { origin: 'override' }, InvalidOptionsError, 'invalid-options', /origin/],
    [{ a: '4, 1/s' }, { from: 'file' }, InvalidOptionsError, 'invalid-options', /unknown option/],
  ])('of %j %j changes nothing', async (limits, options, error, code, message) => {
    const stage = new Stage('5, 2/s')
    const load = () => stage.shaper.limits.load(limits as never, options as never)
    await stage.refuses(load, error, code, message)
  })
})

describe('what was done by hand', () => {
  test('stays through every load, until it is reset', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s', b: '4, 2/s' }, { limitsBy })
    const { limits } = stage.shaper
    await limits.set('a', '8, 1/s', { by: 'ops' })
    await limits.unset('b', { by: 'ops' })
    const heard = listen(stage)
    expect(await limits.load({ '*': '6, 2/s', a: '1, 1/s', b: '1, 1/s' })).toMatchObject({
      set: [{ pattern: '*' }],
      unset: [],
    })
    expect([limits.resolve('a').limit, limits.resolve('b').pattern]).toEqual(['8, 1/s', '*'])
    expect(limits.overrides()).toEqual([
      { pattern: 'a', limit: '8, 1/s', by: 'ops', at: 0 },
      { pattern: 'b', by: 'ops', at: 0 },
    ])
    expect([await limits.reset('a'), await limits.reset('a'), await limits.reset('b')]).toEqual([
      true,
      false,
      true,
    ])
    expect([limits.resolve('a'), limits.resolve('b')]).toEqual([
      { pattern: 'a', limit: '1, 1/s', origin: 'code', by: limitsBy, at: 0 },
      { pattern: 'b', limit: '1, 1/s', origin: 'code', by: limitsBy, at: 0 },
    ])
    expect(limits.overrides()).toEqual([])
    expect(heard).toEqual(['* 6 0', 'a 1 0', 'b 1 0'])
  })

  test('to a pattern that code or file never had leaves nothing behind when it is undone', async () => {
    const stage = new Stage('5, 2/s')
    const { limits } = stage.shaper
    await limits.set('a', '8, 1/s')
    expect(await limits.unset('a')).toBe(true)
    expect(limits.overrides()).toEqual([])
    await limits.load({ a: '3, 1/s' })
    expect(limits.resolve('a')).toMatchObject({ limit: '3, 1/s', origin: 'code' })
    await limits.set('z', '8, 1/s')
    expect(await limits.reset('z')).toBe(true)
    expect(() => limits.resolve('z')).toThrow(NoLimitError)
  })

  test('with the same effect emits nothing, but is by hand from then on', async () => {
    const stage = new Stage('5, 2/s')
    const heard = listen(stage)
    expect(await stage.shaper.limits.set('*', '5, 2/s')).toMatchObject({ origin: 'override' })
    expect(await stage.shaper.limits.load({ '*': '1, 1/s' })).toEqual({ set: [], unset: [] })
    expect(heard).toEqual([])
    await stage.shaper.limits.reset('*')
    expect(heard).toEqual(['* 1 0'])
  })

  test('unset, then set again, is in force', async () => {
    const stage = new Stage({ '*': '5, 2/s', a: '4, 2/s' })
    const { limits } = stage.shaper
    await limits.unset('a')
    expect(await limits.unset('a')).toBe(false)
    await limits.set('a', '3, 1/s')
    expect(limits.list().map(({ pattern, origin }) => [pattern, origin])).toEqual([
      ['*', 'code'],
      ['a', 'override'],
    ])
  })
})
