import { describe, expect, onTestFinished, test } from 'vitest'
import { RuleBookConflictError, Shaper, type ShaperOptions } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const PLACES: readonly (readonly [name: string, where: () => Partial<ShaperOptions>])[] = [
  ['memory', () => ({})],
  ['redis', () => ({ connection: redisAddress(), prefix: uniquePrefix() })],
]

describe.each(PLACES)('%s: a version of the rule book', (_, where) => {
  async function open(limits: Record<string, string>, options: Partial<ShaperOptions> = {}) {
    const shaper = new Shaper('book', { limits, ...where(), ...options })
    onTestFinished(() => shaper.close())
    await shaper.ready()
    return shaper
  }

  test('grows by one with every change, and with nothing else', async () => {
    const { limits } = await open({ '*': '9, 1/s', a: '8, 1/s' })
    const versions = [limits.version]
    const changes = [
      () => limits.set('a', '7, 1/s'),
      () => limits.set('a', '7, 60/m', { by: 'ann' }),
      () => limits.set('a', '7, 60/m', { by: 'bob' }),
      () => limits.unset('a'),
      () => limits.unset('a'),
      () => limits.reset('a'),
      () => limits.reset('a'),
      () => limits.load({ a: '8, 1/s', '*': '9, 1/s' }),
      () => limits.load({ '*': '9, 1/s' }),
      () => limits.load({}, { origin: 'file' }),
      () => limits.load({ '*': '1, 1/s' }, { origin: 'environment' }),
    ]
    for (const change of changes) {
      await change()
      versions.push(limits.version)
    }
    expect(versions).toEqual([1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7])
  })

  test('is what a change may be meant for: with another one in force it is refused, and nothing is changed', async () => {
    const { limits } = await open({ '*': '9, 1/s' })
    await limits.set('a', '7, 1/s', { by: 'ann', ifVersion: 1 })
    const before = [limits.list(), limits.overrides()]
    for (const ifVersion of [0, 1, 3]) {
      const changes = [
        limits.set('a', '6, 1/s', { ifVersion }),
        limits.unset('*', { ifVersion }),
        limits.reset('a', { ifVersion }),
        limits.load({ '*': '1, 1/s' }, { ifVersion }),
        // Also where it would change nothing.
        limits.reset('unknown', { ifVersion }),
      ]
      for (const outcome of await Promise.allSettled(changes)) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { expected: ifVersion, version: 2 } })
        const { reason } = outcome as PromiseRejectedResult
        expect(reason).toBeInstanceOf(RuleBookConflictError)
        expect(reason.message).toMatch(
          `expected version ${ifVersion} of the rule book to be in force, got: version 2`,
        )
      }
    }
    expect([limits.version, [limits.list(), limits.overrides()]]).toEqual([2, before])
    expect(await limits.reset('a', { ifVersion: 2 })).toBe(true)
    expect(await limits.unset('*', { ifVersion: 3 })).toBe(true)
    expect(await limits.load({ b: '1, 1/s' }, { ifVersion: 4 })).toMatchObject({ set: [{ pattern: 'b' }] })
    expect(limits.version).toBe(5)
  })

  test.each([-1, 1.5, '1', Number.NaN])('is a whole number, and not %j', async (ifVersion) => {
    const { limits } = await open({ '*': '9, 1/s' })
    const wrong = { ifVersion } as never
    for (const change of [
      limits.set('a', '1, 1/s', wrong),
      limits.unset('*', wrong),
      limits.reset('a', wrong),
      limits.load({}, wrong),
    ]) {
      await expect(change).rejects.toMatchObject({ code: 'invalid-options', message: /ifVersion/ })
    }
    expect(limits.version).toBe(1)
  })

  test('distinguishes every layer that a shaper sets together, and who set it', async () => {
    const { limits } = await open(
      { '*': '9, 1/s', a: '8, 1/s', b: '7, 1/s' },
      {
        limitsBy: 'flags',
        moreLimits: [
          { from: 'environment', limits: { b: '5, 1/s' } },
          { from: 'file', limits: { a: '4, 1/s', b: '3, 1/s' }, by: 'velvet-rope.yaml' },
        ],
      },
    )
    expect(limits.list().map(({ pattern, limit, origin, by }) => [pattern, limit, origin, by])).toEqual([
      ['*', '9, 1/s', 'code', 'flags'],
      ['a', '4, 1/s', 'file', 'velvet-rope.yaml'],
      ['b', '5, 1/s', 'environment', 'flags'],
    ])
    for (const { at } of limits.list()) expect(at).toBeGreaterThan(1.7e12)
    expect(limits.version).toBe(1)
    await limits.load({}, { origin: 'environment' })
    expect(limits.resolve('b')).toMatchObject({ limit: '3, 1/s', by: 'velvet-rope.yaml' })
  })
})

test('one layer cannot be set twice', () => {
  const limits = { '*': '9, 1/s' }
  const twice = (from: 'code' | 'file') => () => new Shaper('x', { limits, moreLimits: [{ from, limits }] })
  expect(twice('code')).toThrow('expected limits and moreLimits to be of different layers, got: code twice')
  expect(twice('file')).not.toThrow()
  expect(() => new Shaper('x', { limits, moreLimits: [{ from: 'override' as never, limits }] })).toThrow(
    /from/,
  )
})
