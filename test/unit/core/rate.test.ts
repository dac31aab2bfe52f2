import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/duration.ts'
import { InvalidLimitError } from '../../../src/core/errors.ts'
import { formatRate, intervalOf, parseRate, type RateInput } from '../../../src/core/rate.ts'

test.each<[RateInput, number, number]>([
  ['10/s', 10, SECOND],
  ['10r/s', 10, SECOND],
  ['10 r / s', 10, SECOND],
  [' 0.5/s ', 0.5, SECOND],
  ['.5/s', 0.5, SECOND],
  ['1/sec', 1, SECOND],
  ['100/minute', 100, MINUTE],
  ['100 per 15 minutes', 100, 15 * MINUTE],
  ['1_000 PER hour', 1_000, HOUR],
  ['every 250ms', 1, 250_000],
  ['Every day', 1, DAY],
  [{ count: 3, per: '2s' }, 3, 2 * SECOND],
])('parses %j', (input, count, period) => {
  expect(parseRate(input)).toEqual({ count, period })
})

test('the interval is never rounded', () => {
  expect(intervalOf(parseRate('3/s'))).toBe(1_000_000 / 3)
  expect(intervalOf(parseRate('7 per minute'))).toBe(60_000_000 / 7)
})

test.each([
  ['10', 'a rate needs a period: write 10/s or 10/minute, got: 10'],
  ['-1.5', 'a rate needs a period: write -1.5/s'],
  [10, 'a rate needs a period: write 10/s'],
  [Number.NaN, 'a rate needs a period'],
  ['0'.repeat(500), 'expected a rate of at most 200 characters, got: 500'],
  ['', 'expected a rate such as 10/s'],
  ['fast', 'got: "fast"'],
  ['-1/s', 'expected a rate such as'],
  ['NaN/s', 'expected a rate such as'],
  ['10/', 'expected a rate such as'],
  ['10/fortnight', 'expected a duration such as'],
  ['10/M', 'M may mean minute or month'],
  ['every 0s', 'expected a duration above 0'],
  ['0/s', 'expected the count of a rate to be above 0 and at most 1000000000, got: "0/s"'],
  ['2_000_000_000/s', 'expected the count of a rate to be above 0'],
  ['0.001 per 366d', 'expected a rate of at least one per 366 days, got: "0.001 per 366d"'],
  [null, "expected a rate such as '10/s' or { count: 10, per: '1s' }, got: null"],
  [undefined, 'got: undefined'],
  [true, 'got: true'],
  [{ count: 10 }, 'got: an object'],
  [{ count: 0, per: '1s' }, 'got: { count: 0, per: "1s" }'],
  [{ count: Number.NaN, per: '1s' }, 'got: { count: NaN'],
  [{ count: Number.POSITIVE_INFINITY, per: '1s' }, 'got: { count: Infinity'],
  [{ count: -1, per: '1s' }, 'got: { count: -1'],
])('rejects %j with a clear error', (input, message) => {
  const read = () => parseRate(input as RateInput)
  expect(read).toThrow(InvalidLimitError)
  expect(read).toThrow(
    expect.objectContaining({ code: 'invalid-limit', message: expect.stringContaining(message) }),
  )
})

test.each([
  ['10/s', '10/s'],
  ['600 per 60s', '600/m'],
  ['5 per hour', '5/h'],
  ['1/day', '1/d'],
  ['every 250ms', 'every 250ms'],
  ['100 per 15 minutes', '100 per 15m'],
])('formats %j as %j', (input, text) => {
  expect(formatRate(parseRate(input))).toBe(text)
})

test('a rate survives formatting and parsing', () => {
  const count = fc.oneof(fc.integer({ min: 1, max: 1e9 }), fc.double({ min: 0.01, max: 1e6, noNaN: true }))
  const seconds = fc.integer({ min: 1, max: 86_400 })
  const milliseconds = fc.integer({ min: 1, max: 1e6 })
  fc.assert(
    fc.property(count, seconds, milliseconds, (n, s, ms) => {
      for (const per of [`${s}s`, `${ms}ms`, `${ms / 1_000}ms`]) {
        const rate = parseRate({ count: n, per })
        expect(parseRate(formatRate(rate))).toEqual(rate)
      }
    }),
  )
})

test('a parsed rate is frozen', () => {
  expect(Object.isFrozen(parseRate('10/s'))).toBe(true)
})

test.each([
  [{ count: '5', per: '1s' }, '"5" (string)'],
  [{ count: 5, per: '1s', burst: 3 }, '"burst"'],
])('the rate object %j is rejected, and the message says what came', (input, came) => {
  expect(() => parseRate(input as never)).toThrow(InvalidLimitError)
  expect(() => parseRate(input as never)).toThrow(came)
})
