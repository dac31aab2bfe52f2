import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InvalidLimitError } from '../../../src/core/errors.ts'
import { type LimitInput, parseLimit, parseMeterLimit } from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'

test.each<[LimitInput, number, number, number]>([
  ['20, 1/s', 20, 1_000_000, 5_000],
  ['100,10/s', 100, 100_000, 5_000],
  ['1_000, 100/s', 1_000, 10_000, 2_500],
  ['500, 5000/s, tolerance 2ms', 500, 200, 2_000],
  ['500, 1/s, Tolerance 250ms', 500, 1_000_000, 250_000],
  ['500, 2/s, tolerance 0', 500, 500_000, 0],
  ['500, 2/s, tolerance 0ms', 500, 500_000, 0],
  ['500, 5000/s, tolerance 0', 500, 200, 0],
  [{ capacity: 3, rate: '2/s', tolerance: 0 }, 3, 500_000, 0],
  [{ capacity: 3, rate: '2/s', tolerance: '0ms' }, 3, 500_000, 0],
  [{ capacity: 3, rate: '2/s' }, 3, 500_000, 5_000],
  [{ capacity: 3, rate: { count: 2, per: '1s' }, tolerance: '1ms' }, 3, 500_000, 1_000],
])('parses %j', (input, capacity, interval, tolerance) => {
  expect(parseLimit(input)).toMatchObject({ capacity, interval, tolerance })
  expect(Object.isFrozen(parseLimit(input))).toBe(true)
})

test.each([
  ['20', "expected '<capacity>, <rate>' such as '100, 10/s', got: \"20\""],
  ['', "expected '<capacity>, <rate>'"],
  ['20, 1/s, tolerance 1ms, warm-up 1s, more', 'after the rate, got: "more"'],
  ['20, 1/s, tolerance 1ms, more', 'after the rate, got: "more" in "20, 1/s, tolerance 1ms, more"'],
  ['20, 1/s, warmup 3s', 'got: "warmup 3s" in "20, 1/s, warmup 3s": did you mean warm-up?'],
  ['20, 1/s, tolerence 3ms', 'did you mean tolerance?'],
  [
    '20, 1/s, warm-up',
    "expected 'tolerance <duration>', 'warm-up <duration>', a quota such as '2000/day', '50 at once', or 'weight 3' after the rate, got: \"warm-up\"",
  ],
  ['20, 1/s, warm-up 1s, warm-up 2s', 'expected one warm-up, got: two in "20, 1/s, warm-up 1s, warm-up 2s"'],
  ['20, 1/s, warm-up soon', 'expected a duration such as'],
  ['20, 1/s, warm-up 0s', 'expected a duration above 0'],
  ['20, 1/s, warm-up 5s from slow', 'expected a rate such as'],
  ['20, 1/s, warm-up 5s from 1/m from 2/m', 'PT1M30S, got: "m from 2/m"'],
  ['20, 1/s, warm-up 5s from 1/s', 'expected the cold rate to be slower than the rate (1/s), got: 1/s'],
  ['20, 1/s, warm-up 5s from 2/s', 'expected the cold rate to be slower than the rate (1/s), got: 2/s'],
  ['0, 1/s', 'expected the capacity to be a whole number from 1 to 1000000000, got: 0'],
  ['-1, 1/s', 'expected the capacity to be a whole number above 0, got: "-1" in "-1, 1/s"'],
  ['1.5, 1/s', 'expected the capacity to be a whole number above 0'],
  ['NaN, 1/s', 'expected the capacity to be a whole number above 0'],
  ['many, 1/s', 'got: "many" in "many, 1/s"'],
  ['2_000_000_000, 1/s', 'got: 2000000000'],
  ['20, 10', 'a rate needs a period'],
  ['20, 0/s', 'expected the count of a rate to be above 0'],
  ['20, 1/s, 5ms', 'after the rate, got: "5ms" in "20, 1/s, 5ms"'],
  ['20, 1/s, tolerance 251ms', 'at most a quarter of the interval (250 ms), got: 251ms'],
  ['20, 5000/s', 'the rate 5000/s has an interval under 1 ms'],
  ['20, 5000/s, tolerance 11ms', 'expected the tolerance to be at most 10ms, got: 11ms'],
  [10, "expected a limit such as '100, 10/s' or { capacity: 100, rate: '10/s' }, got: 10"],
  [null, 'got: null'],
  [undefined, 'got: undefined'],
  [[20, '1/s'], 'got: an array of 2'],
  [{ capacity: 0, rate: '1/s' }, 'got: 0'],
  [{ capacity: Number.NaN, rate: '1/s' }, 'got: NaN'],
  [{ capacity: '5', rate: '1/s' }, 'got: "5" (string)'],
  [{ capacity: 5 }, 'expected a rate such as'],
  [
    { capacity: 5, rate: '1/s', tolerance: 5 },
    "expected the tolerance to be a duration such as '2ms', or 0 for strict spacing, got: 5",
  ],
  [{ capacity: 5, rate: '1/s', tolerance: null }, 'or 0 for strict spacing, got: null'],
  [
    '20, 1/s, tolerance none',
    'expected the tolerance to be a duration such as \'2ms\', or 0 for strict spacing, got: "none"',
  ],
  ['20, 1/s, tolerance 0 parsecs', 'or 0 for strict spacing, got: "0 parsecs"'],
  ['20, 1/s, tolerance', 'got: "tolerance" in "20, 1/s, tolerance"'],
  [{ capacity: 5, rate: '1/s', warmUp: 5 }, "expected warmUp to be a duration such as '30s', got: 5"],
  [
    { capacity: 5, rate: '1/s', coldRate: '1/m' },
    'expected a warmUp beside coldRate, such as \'30s\', got: "1/m"',
  ],
  [{ capacity: 5, rate: '1/s', warmUp: '5s', coldRate: 2 }, 'a rate needs a period'],
  [{ capacity: 5, rate: '1/s', warmup: '5s' }, 'unknown field "warmup" in a limit: did you mean warmUp?'],
  [{ capacity: 5, rate: '1/s', burst: 5 }, 'unknown field "burst" in a limit: did you mean capacity?'],
  [{ capacity: 5, rte: '1/s' }, 'unknown field "rte" in a limit: did you mean rate?'],
  [{ capacity: 5, rate: '1/s', zzzzzzzzzz: 1 }, 'known are capacity, rate, tolerance, warmUp, coldRate'],
])('rejects %j with a clear error', (input, message) => {
  const read = () => parseLimit(input as LimitInput)
  expect(read).toThrow(InvalidLimitError)
  expect(read).toThrow(
    expect.objectContaining({ code: 'invalid-limit', message: expect.stringContaining(message) }),
  )
})

test('for a meter a short interval needs no tolerance, and a given one is parsed', () => {
  expect(parseMeterLimit('20, 5000/s')).toMatchObject({ capacity: 20, interval: 200 })
  expect(parseMeterLimit({ capacity: 20, rate: '1000000000/s' }).interval).toBe(1e-3)
  expect(parseMeterLimit('20, 5000/s, tolerance 20ms').interval).toBe(200)
  expect(parseMeterLimit('20, 1/s')).toEqual(parseLimit('20, 1/s'))
  expect(() => parseMeterLimit('20, 1/s, tolerance 251ms')).toThrow('at most a quarter of the interval')
})

test('only a tolerance other than the default is formatted', () => {
  expect(formatLimit(parseLimit('20, 1/s'))).toBe('20, 1/s')
  expect(formatLimit(parseLimit('20, 1/s, tolerance 5ms'))).toBe('20, 1/s')
  expect(formatLimit(parseLimit('20, 1/s, tolerance 4ms'))).toBe('20, 1/s, tolerance 4ms')
  expect(formatLimit(parseLimit('20, 1/s, tolerance 0ms'))).toBe('20, 1/s, tolerance 0')
  expect(formatLimit(parseLimit('20, 5000/s, tolerance 5 ms'))).toBe('20, 5000/s, tolerance 5ms')
})

test.each<[LimitInput, number, number, string]>([
  ['100, 10/s', 0, 100_000, '100, 10/s'],
  ['100, 10/s, warm-up 30s', 30_000_000, 300_000, '100, 10/s, warm-up 30s'],
  ['100, 10/s, Warm-Up 1m30s FROM 2/s', 90_000_000, 500_000, '100, 10/s, warm-up 90s from 2/s'],
  ['100, 10/s,warm-up 1 minute from 1 per 2 s', 60_000_000, 2_000_000, '100, 10/s, warm-up 1m from every 2s'],
  ['9, 5000/s, warm-up 2s, tolerance 1ms', 2_000_000, 600, '9, 5000/s, tolerance 1ms, warm-up 2s'],
  ['9, 5000/s, tolerance 1ms, warm-up 2s', 2_000_000, 600, '9, 5000/s, tolerance 1ms, warm-up 2s'],
  [{ capacity: 3, rate: '3/s', warmUp: '5s' }, 5_000_000, 1_000_000, '3, 3/s, warm-up 5s'],
  [
    { capacity: 3, rate: '3/s', warmUp: '5s', coldRate: { count: 1, per: '1s' } },
    5_000_000,
    1_000_000,
    '3, 3/s, warm-up 5s from 1/s',
  ],
])('parses the warm-up of %j', (input, warmUp, coldInterval, text) => {
  const limit = parseLimit(input)
  expect(limit).toMatchObject({ warmUp, coldInterval })
  expect(formatLimit(limit)).toBe(text)
  expect(parseLimit(text)).toEqual(limit)
})

test('a limit survives formatting and parsing', () => {
  const capacity = fc.integer({ min: 1, max: 1e9 })
  const count = fc.integer({ min: 1, max: 1e5 })
  const tolerance = fc.integer({ min: 0, max: 10_000 }).map((us) => `${us / 1_000}ms`)
  const cold = fc.constantFrom('', ' from 1 per 2d', ' from 3/h', ' from every 700ms')
  const warmUp = fc.tuple(fc.constantFrom('30s', '1500ms', '2h'), cold).map((parts) => parts.join(''))
  const unit = fc.constantFrom('s', '3s', 'm', '15m', 'h', 'd')
  fc.assert(
    fc.property(
      capacity,
      count,
      unit,
      fc.option(tolerance),
      fc.option(warmUp),
      (held, n, per, allowed, warms) => {
        const further = [allowed && `, tolerance ${allowed}`, warms && `, warm-up ${warms}`]
        const text = `${held}, ${n} per ${per}${further.join('')}`
        let limit: ReturnType<typeof parseLimit>
        try {
          limit = parseLimit(text)
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidLimitError)
          return
        }
        expect(parseLimit(formatLimit(limit))).toEqual(limit)
      },
    ),
  )
})

test.each<LimitInput>([
  `1, 1/s, 1/a${' '.repeat(200_000)}!`,
  `1, 1 ${'\t'.repeat(200_000)}in`,
  { capacity: 1, rate: `1${' '.repeat(200_000)}x` },
  { capacity: 1, rate: { count: 1, per: `1${' '.repeat(200_000)}s` } },
  { capacity: 1, rate: '1/s', warmUp: '1'.repeat(200_000) },
  { capacity: 1, rate: '1/s', quotas: [`1${' '.repeat(200_000)}at${' '.repeat(200_000)}onc`] },
])('a text that is longer than any part is refused before it is read', (input) => {
  expect(() => parseLimit(input)).toThrow(
    /^expected a (limit|rate|duration|quota) of at most (200|1000) characters, got: \d{6}$/,
  )
})

test('a list of quotas with holes is refused by name', () => {
  expect(() => parseLimit({ capacity: 1, rate: '1/s', quotas: new Array(3) })).toThrow(
    /^expected a quota such as .*, got: undefined$/,
  )
})
