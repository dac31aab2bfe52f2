import { describe, expect, test } from 'vitest'
import { at, failAndRetry, msAt, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

const KEYS = [
  '{}',
  '}{',
  '{a}',
  '{a}/{b}',
  '}',
  'with spaces  inside',
  ' ',
  '/b/a',
  '//a',
  'a//b',
  '/a',
  ':',
  'a:b:1',
  'vr:stage:0',
  '*',
  '?[x]',
  '\\',
  '"quoted"',
  "'",
  '%s%n\\0',
  'ключ/鍵/🔑',
  'e\u0301',
  '\u00e9',
  '\u2028',
  '0',
  '-1',
  '1e9',
  'inf',
  'nan',
  'nil',
  'false',
  'constructor',
  'toString',
  'k'.repeat(256),
  '鍵'.repeat(85),
]

const PAYLOADS: readonly (readonly [what: string, json: string])[] = [
  ['an empty array', '[]'],
  ['an empty object', '{}'],
  ['empty ones inside others', '{"a":[],"b":{},"c":[[],{}]}'],
  ['a long integer as text', '"12345678901234567890123456789"'],
  ['the largest safe integer', '9007199254740991'],
  ['a fraction', '[0.1,1e-7,1.7976931348623157e308]'],
  ['nothing', 'null'],
  ['false', 'false'],
  ['empty text', '""'],
  ['text of a number', '"1"'],
  ['quotes and controls', JSON.stringify('"\\\u0000\u0001\r\n\t\u007f')],
  ['every plane', JSON.stringify('é鍵🔑\u2028\u2029')],
  ['a lone surrogate, escaped', '"\\ud800"'],
  ['100 KB', JSON.stringify('x'.repeat(100_000))],
  ['deep nesting', `${'['.repeat(200)}${']'.repeat(200)}`],
]

describe.each(DRIVERS)('%s: keys are data', (_, open) => {
  test('however odd, each is a bucket of its own', async () => {
    const driver = await openFor(open, '9, 1/s')
    for (const [index, key] of KEYS.entries()) {
      expect(await driver.admit(request(`j${index}`, { key }), at(index / 1_000))).toMatchObject({
        accepted: true,
        key,
        position: 1,
      })
    }
    const { buckets, total } = await driver.list({ sort: 'key' }, at(1))
    expect(total).toBe(KEYS.length)
    expect(buckets.map(({ key }) => key).sort()).toEqual(KEYS.toSorted())
    for (const [index, key] of KEYS.entries()) {
      expect(await driver.inspect(key, at(1))).toMatchObject({ key, jobs: 1 })
      expect(await driver.job(`j${index}`, at(1))).toMatchObject({ key, state: 'waiting' })
    }
    for (const [index, key] of KEYS.entries()) {
      expect(await driver.startNext(at(1))).toMatchObject({ id: `j${index}`, key })
    }
  })

  test('a prefix of a query is text, not a pattern', async () => {
    const driver = await openFor(open, '9, 1/s')
    for (const [index, key] of ['*', '*x', 'ax', '[a]', 'a'].entries()) {
      await driver.admit(request(`j${index}`, { key }), at(0))
    }
    const found = async (prefix: string) => {
      const { buckets } = await driver.list({ prefix, sort: 'key' }, at(0))
      return buckets.map(({ key }) => key)
    }
    expect([await found('*'), await found('[a]'), await found('a')]).toEqual([
      ['*', '*x'],
      ['[a]'],
      ['a', 'ax'],
    ])
  })

  test('odd keys can be frozen, paused, resumed and forgotten', async () => {
    const driver = await openFor(open, '9, 1/s')
    for (const key of KEYS) {
      await driver.pause(key, at(0))
      await driver.freeze(key, at(1), at(0))
      await driver.resume(key, at(0))
      expect(await driver.inspect(key, at(0))).toMatchObject({ key, frozenUntil: msAt(1), paused: false })
    }
    await driver.forget(at(1))
    expect(await driver.list({}, at(1))).toMatchObject({ total: 0 })
  })
})

describe.each(DRIVERS)('%s: payloads are data', (_, open) => {
  test.each(PAYLOADS)('%s comes out as it went in', async (_, data) => {
    const driver = await openFor(open, '9, 1/s')
    await driver.admit(request('x', { data }), at(0))
    expect((await driver.job('x', at(0)))!.data).toEqual(JSON.parse(data))
    expect(await driver.admit(request('x', { data }), at(0))).toMatchObject({ replayed: true })
    const started = await driver.startNext(at(0))
    expect(started!.data === data).toBe(true)
    await driver.finish('x', { kind: 'completed', result: data }, at(0))
    expect(await driver.job('x', at(0))).toMatchObject({ state: 'completed' })
    expect((await driver.job('x', at(0)))!.result).toEqual(JSON.parse(data))
  })

  test('a result that is nothing is none', async () => {
    const driver = await openFor(open, '9, 1/s')
    await driver.lineUp('x', at(0))
    await driver.startNext(at(0))
    await driver.finish('x', { kind: 'completed' }, at(0))
    expect((await driver.job('x', at(0)))!.result).toBeUndefined()
  })

  test.each(['', 'of two\nlines', '{"a":1}', 'é鍵🔑', 'e'.repeat(20_000)])(
    'an error message (%#)',
    async (error) => {
      const driver = await openFor(open, '9, 1/s')
      await driver.lineUp('x', at(0))
      await driver.startNext(at(0))
      await driver.finish('x', { kind: 'retry', error, readyAt: at(1) }, at(0))
      expect((await driver.job('x', at(0)))!.error).toBe(error)
      await driver.startNext(at(1))
      await driver.finish('x', { kind: 'failed', error: `${error}!` }, at(1))
      expect((await driver.job('x', at(1)))!.error).toBe(`${error}!`)
    },
  )

  test.each(['1', '0', '-', '_', '00001', '1e3', 'nil', 'constructor', 'i'.repeat(128)])(
    'the id %s',
    async (id) => {
      const driver = await openFor(open, '9, 1/s')
      await driver.admit(request(id, { cost: 3 }), at(0))
      expect(await driver.job(id, at(0))).toMatchObject({ id, position: 1 })
      expect(await driver.startNext(at(0))).toMatchObject({ id })
      await driver.finish(id, failAndRetry(at(0)), at(0))
      expect(await driver.job(id, at(0))).toMatchObject({ id, state: 'retrying', position: 1 })
      expect(await driver.cancel(id, at(0))).toBe(true)
      expect(await driver.inspect('a', at(0))).toMatchObject({ waiting: 0, fill: 0 })
    },
  )

  test('the largest cost and capacity', async () => {
    const driver = await openFor(open, '1000000000, 1000/s')
    const cost = 1_000_000_000
    expect(await driver.admit(request('x', { cost }), at(0))).toMatchObject({ position: 1 })
    expect(await driver.admit(request('y'), at(0))).toMatchObject({ reason: 'full', waiting: cost })
    expect(await driver.startNext(at(0))).toMatchObject({ cost })
    expect(await driver.admit(request('y'), at(0))).toMatchObject({ departsAt: msAt(1_000_000) })
  })
})
