import { expect, onTestFinished, test, vi } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from '../../../src/core/errors.ts'
import { Shaper } from '../../../src/index.ts'
import { type MeterLimitsInput, openMeterLimits } from '../../../src/meter/meter-limits.ts'

const limitOf = (limits: MeterLimitsInput, key: string) => {
  const { pattern, limit } = openMeterLimits(limits).resolve(key)
  return { pattern, capacity: limit.capacity, interval: limit.interval }
}

test('patterns apply as in a shaper', () => {
  const limits = { '*': '100, 10/s', 'login/admin': { capacity: 5, rate: '1/m' } }
  expect(limitOf(limits, 'anybody')).toEqual({ pattern: '*', capacity: 100, interval: SECOND / 10 })
  expect(limitOf(limits, 'login/admin/x')).toEqual({
    pattern: 'login/admin',
    capacity: 5,
    interval: 60 * SECOND,
  })
  expect(() => limitOf({ a: '1, 1/s' }, 'b')).toThrow(NoLimitError)
  expect(limitOf({ resolve: '7, 1/s' }, 'resolve').capacity).toBe(7)
})

test('a rate that no timer could keep is allowed', () => {
  expect(limitOf({ '*': '1000, 1000000/s' }, 'k').interval).toBe(1)
})

test.each<[object, new (message: string) => Error, string]>([
  [{ '*': '9, 1/s, tolerance 5ms' }, InvalidLimitError, 'limit "*": expected the limit of a meter to be'],
  [{ '*': '9, 1/s, tolerance 5ms' }, InvalidLimitError, 'got: "tolerance 5ms" as well'],
  [{ a: { capacity: 9, rate: '1/s', tolerance: '5ms' } }, InvalidLimitError, 'got: "tolerance" as well'],
  [{ a: { capacity: 9, rate: '1/s', burst: 1 } }, InvalidLimitError, 'did you mean capacity?'],
  [{ a: '9' }, InvalidLimitError, 'limit "a": expected \'<capacity>, <rate>\''],
  [{ 'a*': '9, 1/s' }, InvalidKeyError, 'expected * to stand alone'],
  [['9, 1/s'], InvalidLimitError, 'got: an array of 1'],
])('rejects %j with a clear error', (limits, kind, message) => {
  const open = () => openMeterLimits(limits as MeterLimitsInput)
  expect(open).toThrow(kind)
  expect(open).toThrow(message)
})

test('the rule book of a shaper is followed, except for what concerns queues', async () => {
  const shaper = new Shaper('s', { limits: { '*': '9, 5000/s, tolerance 2ms' } })
  onTestFinished(() => shaper.close())
  const limits = openMeterLimits(shaper.limits)
  expect(limits.resolve('k')).toMatchObject({ pattern: '*', limit: { capacity: 9, interval: 200 } })
  await shaper.limits.set('k', '3, 1/s')
  expect(limits.resolve('k')).toMatchObject({ pattern: 'k', limit: { capacity: 3, interval: SECOND } })
  await shaper.limits.unset('k')
  await shaper.limits.unset('*')
  expect(() => limits.resolve('k')).toThrow(NoLimitError)
})

test('a text is parsed once, and not cached forever', () => {
  let capacity = 1
  const limits = openMeterLimits({ resolve: () => ({ pattern: '*', limit: `${capacity}, 1/s` }) })
  const limitOf = (of: number) => {
    capacity = of
    return limits.resolve('k').limit
  }
  const first = limitOf(1)
  for (let n = 2; n <= 1_000; n++) expect(limitOf(n).capacity).toBe(n)
  expect(limitOf(1)).toBe(first)
  limitOf(1_001)
  expect(limitOf(1)).not.toBe(first)
  expect(limitOf(1)).toEqual(first)
})

test('a book that returns nonsense is an error, each time', () => {
  const resolve = vi.fn(() => ({ pattern: '*', limit: '9, soon' }))
  const limits = openMeterLimits({ resolve })
  expect(() => limits.resolve('k')).toThrow(InvalidLimitError)
  expect(() => limits.resolve('k')).toThrow('got: "soon"')
  const numbers = openMeterLimits({ resolve: () => ({ pattern: '*', limit: 9 as unknown as string }) })
  expect(() => numbers.resolve('k')).toThrow('expected limits.resolve to return a limit as text, got: 9')
})

test('a total is refused, in the limits of a meter and in local ones', async () => {
  const refused =
    'limit "a/": expected a pattern of keys, got that of a total: "a/"; a meter counts each key alone'
  expect(() => openMeterLimits({ '*': '10, 1/s', 'a/': '20, 1/s' })).toThrow(refused)
  const shaper = new Shaper('shared', { limits: { 'a/*': '10, 1/s', 'a/': '20, 1/s' } })
  expect(() => shaper.limits.setLocal('a/', '20, 1/s')).toThrow(refused)
  // The total of a shaper whose rule book it follows is none of its own.
  const limits = openMeterLimits(shaper.limits)
  expect(limits.resolve('a/1')).toMatchObject({ pattern: 'a/*' })
})
