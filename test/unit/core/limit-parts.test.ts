import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/core/duration.ts'
import { InvalidLimitError } from '../../../src/core/errors.ts'
import {
  hasParts,
  type LimitInput,
  parseLimit,
  parseMeterLimit,
  parseStoredLimit,
} from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'
import { checkUnit } from '../../../src/core/unit.ts'

const rolling = (amount: number, length: number, unit?: string, each?: number) => {
  return { amount, unit, each, window: { length } }
}
const calendar = (amount: number, period: string, zone: string) => {
  return { amount, unit: undefined, each: undefined, window: { period, zone } }
}
const MANY = Number.POSITIVE_INFINITY

test.each<[LimitInput, unknown[], number]>([
  ['100, 3/s, 2000/day, 50 at once', [rolling(2_000, DAY)], 50],
  ['100, 3/s, 1_000 at once, 2_000 per 90s', [rolling(2_000, 90 * 1e6)], 1_000],
  ['500, 500/minute, 90000 tokens/minute 1200 each', [rolling(90_000, MINUTE, 'tokens', 1_200)], MANY],
  ['20, 1/s, 10000 per day in America/Los_Angeles', [calendar(10_000, 'day', 'America/Los_Angeles')], MANY],
  ['20, 1/s, 5/hour, 50 per week in UTC, tolerance 0', [rolling(5, HOUR), calendar(50, 'week', 'UTC')], MANY],
  [{ capacity: 9, rate: '1/s', quotas: [{ amount: 5, per: 'hour' }] }, [rolling(5, HOUR)], MANY],
  [{ capacity: 9, rate: '1/s', quotas: ['5/hour'], concurrency: 2 }, [rolling(5, HOUR)], 2],
  [
    { capacity: 9, rate: '1/s', quotas: [{ amount: 5, per: '1m', unit: 'gb', each: 5 }] },
    [rolling(5, MINUTE, 'gb', 5)],
    MANY,
  ],
  [
    { capacity: 9, rate: '1/s', quotas: [{ amount: 5, per: 'Hour', in: 'UTC' }] },
    [calendar(5, 'hour', 'UTC')],
    MANY,
  ],
  [{ capacity: 9, rate: '1/s', quotas: [] }, [], MANY],
  ['9, 1/s', [], MANY],
])('reads the further parts of %j', (input, quotas, concurrency) => {
  const limit = parseLimit(input)
  expect(limit).toMatchObject({ quotas, concurrency })
  expect(hasParts(limit)).toBe(quotas.length > 0 || concurrency < MANY)
  expect(Object.isFrozen(limit.quotas)).toBe(true)
  expect(parseLimit(formatLimit(limit))).toEqual(limit)
})

test.each([
  ['100, 3/s, 2000 per 1d, 50 at once', '100, 3/s, 2000/day, 50 at once'],
  ['9, 1/s, 5 at once, 90_000 tokens per 60s 1_200 each', '9, 1/s, 90000 tokens/minute 1200 each, 5 at once'],
  ['9, 1/s, 100 per 15 minutes, 5/sec, 7 / 1h', '9, 1/s, 100 per 15m, 5/second, 7/hour'],
  ['9, 1/s, 7 per day in europe/berlin', '9, 1/s, 7 per day in Europe/Berlin'],
  ['9, 1/s, 7 per DAY in UTC, tolerance 1ms', '9, 1/s, tolerance 1ms, 7 per day in UTC'],
])('formats %s as %s', (input, text) => expect(formatLimit(parseLimit(input))).toBe(text))

test.each<[unknown, string]>([
  [
    '9, 1/s, 90,000 tokens/minute 5 each',
    'numbers without a comma inside, such as 90000 or 90_000, got: "90" alone',
  ],
  ['20, 100', 'a rate needs a period: write 100/s or 100/minute, got: 100'],
  ['20,000, 200/s', 'numbers without a comma inside, such as 90000 or 90_000, got: "000" alone'],
  [
    '500, 10000 per day in America/Los_Angeles',
    "expected the second part to be a pace such as '10/s', which has no time zone, and quotas after it, got: ",
  ],
  ['9, 1/s, 5/day, 6 per 1d', 'expected one quota of a unit for each window, got: two like "6/day"'],
  ['9, 1/s, 5 per day in UTC, 6 per day in UTC', 'got: two like "6 per day in UTC"'],
  ['9, 1/s, 5 per day in UTC, 6 per day in utc', 'got: two like "6 per day in UTC"'],
  [
    '9, 1/s, 5 t/day 1 each, 9 t/hour 2 each',
    'expected the quotas of t to say the same for each job, got: 1 and 2',
  ],
  ['9, 1/s, 0/day', 'expected the amount of a quota to be a whole number from 1 to 1000000000000, got: 0'],
  [
    '9, 1/s, 5 t/day',
    'that name no amount, such as "5 t/day 5 each", got: none; to count the cost of jobs instead, leave out the unit: "5/day"',
  ],
  ['9, 1/s, 5 t/day 6 each', '`each` to be a whole number from 1 to the amount of the quota (5), got: 6'],
  ['9, 1/s, 5/day 2 each', 'expected `each` only with a unit, since a job has a cost, got: 2'],
  ['9, 1/s, 5 r/day 2 each', 'is no word of the syntax, got: "r" (string)'],
  ['9, 1/s, 5/month', 'to be from 1 second to 31 days, such as \'31 days\', got: "month"'],
  ['9, 1/s, 5/fortnight', 'expected a duration such as'],
  [
    '9, 1/s, 5 per day America/Los_Angeles',
    "expected the zone of a quota behind 'in', such as '5 per day in America/Los_Angeles', got: ",
  ],
  ['9, 1/s, 5/day UTC', 'such as \'5 per day in UTC\', got: "5/day UTC"'],
  ['9, 1/s, 5 per 10ms', 'window of a quota to be from 1 second to 31 days, got: "10ms"'],
  ['9, 1/s, 5 per 32 days', 'window of a quota to be from 1 second to 31 days, got: "32 days"'],
  [
    '9, 1/s, 5 per minute in UTC',
    'expected a quota in a time zone to be per hour, day or week, got: "minute"',
  ],
  [
    '9, 1/s, 5 per day in Mars/Base',
    'expected a time zone such as America/Los_Angeles or UTC, got: "Mars/Base"',
  ],
  [
    '9, 1/s, 5 per day in 2026-01-01T00:00Z',
    'expected a time zone such as America/Los_Angeles or UTC, got: "2026-01-01T00:00Z"',
  ],
  ['9, 1/s, 0 at once', 'that may run at once to be a whole number from 1 to 1000000, got: 0'],
  ['9, 1/s, 5 at once, 6 at once', 'expected one at once, got: two'],
  ['9, 1/s, at once', 'after the rate, got: "at once"'],
  [
    '9, 90000 tokens/s',
    'expected the rate to count jobs, such as \'10/s\', got: "90000 tokens/s": make tokens a quota',
  ],
  ['9, 5000/s', 'what counts in thousands a second, such as tokens, is a quota'],
  [
    { capacity: 9, rate: '1/s', quotas: 5 },
    "expected quotas to be a list of at most 8, such as ['2000/day'], got: 5",
  ],
  [
    { capacity: 9, rate: '1/s', quotas: Array(9).fill('5/day') },
    "of at most 8, such as ['2000/day'], got: an array of 9",
  ],
  [{ capacity: 9, rate: '1/s', quotas: [null] }, "expected a quota such as { amount: 2000, per: 'day' }"],
  [{ capacity: 9, rate: '1/s', quotas: ['often'] }, "expected a quota such as '2000/day'"],
  [
    { capacity: 9, rate: '1/s', quotas: [{ amount: 5, pre: 'day' }] },
    'unknown field "pre" in a quota: did you mean per?',
  ],
  [{ capacity: 9, rate: '1/s', quotas: [{ size: 5 }] }, 'in a quota: known are amount, per, unit, each, in'],
  [
    { capacity: 9, rate: '1/s', quotas: [{ amount: 5, per: 60 }] },
    "`per` of a quota to be a duration such as 'day', got: 60",
  ],
  [{ capacity: 9, rate: '1/s', quotas: [{ amount: 5, per: 'day', in: 7 }] }, 'got: 7'],
  [
    { capacity: 9, rate: '1/s', quotas: [{ amount: 5, per: 'day', unit: 7 }] },
    'expected a unit to be a name',
  ],
  [{ capacity: 9, rate: '1/s', concurrency: '5' }, 'got: "5" (string)'],
])('refuses %j: %s', (input, message) => {
  const parse = () => parseLimit(input as LimitInput)
  expect(parse).toThrow(InvalidLimitError)
  expect(parse).toThrow(message)
})

test('a meter has a rate and nothing else', () => {
  expect(() => parseMeterLimit('9, 1/s, 5/day')).toThrow(
    'expected the limit to be a capacity and a rate here, got: "9, 1/s, 5/day"',
  )
  expect(parseMeterLimit('9, 5000/s')).toMatchObject({ capacity: 9, quotas: [] })
})

describe('a unit', () => {
  test.each(['tokens', 'GB', 'in-flight_2', 'a'])('may be called %s', (name) =>
    expect(checkUnit(name)).toBe(name),
  )
  // What objects inherit would be what a job names.
  const inherited = ['constructor', 'toString', 'hasOwnProperty']
  test.each(['', '2x', 'a b', 'cost', 'PER', 'x'.repeat(33), 'é', 5, ...inherited])(
    'may not be called %s',
    (name) => {
      expect(() => checkUnit(name)).toThrow(InvalidLimitError)
    },
  )
})

test('any limit is the same after it was formatted and read again', () => {
  const unit = fc.stringMatching(/^[a-z][a-z0-9_-]{0,9}$/).filter((name) => {
    return !['r', 'per', 'in', 'at', 'once', 'each', 'every', 'from', 'cost', 'costs'].includes(name)
  })
  const per = fc.constantFrom('1s', '90s', 'minute', '15m', 'hour', 'day', '31 days')
  const quota = fc.record({
    amount: fc.integer({ min: 100, max: 1e12 }),
    per,
    unit,
    each: fc.integer({ min: 1, max: 100 }),
  })
  const zoned = fc.record({
    amount: fc.integer({ min: 1, max: 1e9 }),
    per: fc.constantFrom('hour', 'day', 'week'),
    in: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
  })
  const quotas = fc.uniqueArray(quota, { maxLength: 5, selector: (each) => each.unit })
  fc.assert(
    fc.property(
      quotas,
      fc.option(zoned),
      fc.option(fc.integer({ min: 1, max: 1e6 })),
      (parts, more, concurrency) => {
        const limit = parseLimit({
          capacity: 9,
          rate: '1/s',
          quotas: more === null ? parts : [...parts, more],
          ...(concurrency !== null && { concurrency }),
        })
        expect(parseLimit(formatLimit(limit))).toEqual(limit)
      },
    ),
  )
})

test('a stored limit may have a time zone that is not known here, and keeps its text', () => {
  const text = '9, 1/s, 5 per day in Mars/Base, 9 per week in UTC'
  expect(parseStoredLimit(text).quotas).toEqual([calendar(5, 'day', 'Mars/Base'), calendar(9, 'week', 'UTC')])
  expect(formatLimit(parseStoredLimit(text))).toBe(text)
  expect(() => parseStoredLimit('9, 1/s, 5 per day in Mars/Base, 6 per day in Mars/Base')).toThrow('two like')
  expect(() => parseStoredLimit('9, 1/s, 5 per day in 2026-01-01')).toThrow('expected a time zone such as')
})

test('a field whose getter gives another value the next time counts as it was checked', () => {
  const once = <Value extends object>(fields: Value, field: keyof Value): Value => {
    const values = [fields[field], Symbol('of the next time')]
    return Object.defineProperty(fields, field, { get: () => values.shift() })
  }
  const limit = { capacity: 9, rate: '10/s', tolerance: '2ms', warmUp: '5s', coldRate: '1/s' }
  for (const field of ['capacity', 'rate', 'tolerance', 'warmUp', 'coldRate'] as const)
    expect(parseLimit(once({ ...limit }, field)), field).toEqual(parseLimit(limit))
  for (const field of ['count', 'per'] as const) {
    const rate = once({ count: 10, per: '1s' }, field)
    expect(parseLimit({ capacity: 9, rate }), field).toEqual(parseLimit('9, 10/s'))
  }
})

test.each<[LimitInput, number]>([
  ['9, 1/s', 1],
  ['9, 1/s, weight 3', 3],
  ['9, 1/s, 5/hour, Weight 0.5, 2 at once', 0.5],
  [{ capacity: 9, rate: '1/s', weight: 2.5 }, 2.5],
])('reads the weight of %j', (input, weight) => {
  const limit = parseLimit(input)
  expect(limit.weight).toBe(weight)
  expect(parseLimit(formatLimit(limit))).toEqual(limit)
  expect(formatLimit(limit).includes('weight')).toBe(weight !== 1)
})

test.each<[unknown, string]>([
  ['9, 1/s, weight', "expected 'tolerance <duration>'"],
  ['9, 1/s, weight x', 'expected the weight to be a number such as 3, got: "x"'],
  ['9, 1/s, weight 0', 'expected the weight to be a number from 0.001 to 1000000, such as 3, got: 0'],
  ['9, 1/s, weight 3, weight 4', 'expected one weight, got: two in'],
  ['9, weight 3', 'expected a rate such as'],
  [{ capacity: 9, rate: '1/s', weight: '3' }, 'got: "3" (string)'],
  [{ capacity: 9, rate: '1/s', weight: Number.NaN }, 'got: NaN'],
  [{ capacity: 9, rate: '1/s', weight: 2e6 }, 'got: 2000000'],
])('refuses %j as a weight', (input, message) => {
  expect(() => parseLimit(input as LimitInput)).toThrow(message)
})
