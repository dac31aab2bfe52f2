import { expect, test } from 'vitest'
import { type LimitInput, parseLimit } from '../../../src/core/limit.ts'

function messageOf(limit: unknown): string {
  try {
    parseLimit(limit as LimitInput)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('expected an error')
}

test.each([
  ['500 requests/minute', 'got: "500 requests/minute": begin with the capacity, how many may wait'],
  ['10000/year', 'begin with the capacity'],
  ['100 10/s', 'put a comma after the capacity, how many may wait'],
  ['100; 10/s', 'put a comma after the capacity'],
  ['10/s, 100', 'in "10/s, 100": first the capacity, then the rate, then the other parts'],
  ['50 at once, 100, 10/s', 'first the capacity, then the rate'],
  ['100, 50 at once, 10/s', 'expected a rate such as \'10/s\' as the second part, and "50 at once" after it'],
  ['100, tolerance 2ms, 10/s', 'and "tolerance 2ms" after it, got: "100, tolerance 2ms, 10/s"'],
])('the order of the parts is said for %j', (limit, hint) => {
  expect(messageOf(limit)).toContain(hint)
})

test.each([
  '1,000, 10/s',
  '1,000/s',
  '100, 1,000/s',
  '100, 10/s, 1,000/day',
  '100, 10/s, 90000 tokens/minute 1,200 each',
])('a comma inside a number is found in %j', (limit) => {
  expect(messageOf(limit)).toContain('expected numbers without a comma inside, such as 90000 or 90_000')
})

test.each(['100, 200/s', '9, 600/s, 300/s', '100, 10/s, 200/minute', '1, 100/s, 300/5s'])(
  'no number of three digits is taken for the rest of one in %j',
  (limit) => {
    expect(parseLimit(limit)).toMatchObject({ capacity: Number.parseInt(limit, 10) })
  },
)

test.each([
  ['90k tokens/minute 1200 each', 'write 90000 for 90k'],
  ['1.5M tokens/day 9 each', 'write 1500000 for 1.5M'],
  ['10 000/day', 'write 10000 for 10 000'],
  ['1.000.000/day', 'write 1000000 for 1.000.000'],
  ['90k/minute 5 each', 'a whole number such as 90000 or 90_000, got: 90k in "90k/minute 5 each"'],
  ['1e4/day', 'a whole number such as 90000 or 90_000, got: 1e4 in "1e4/day"'],
  ['90000 tokens', 'a quota has a window, such as /minute'],
  ['90000 tokens 1200 each', 'a quota has a window, such as /minute'],
  ['50 concurrent', 'did you mean 50 at once?'],
  ['50 in parallel', 'did you mean 50 at once?'],
  ['0/day', 'from 1 to 1000000000000, got: 0; to let nothing start, pause the key'],
  ['10000/year', 'the window of a quota to be from 1 second to 31 days, such as \'31 days\', got: "year"'],
  [
    '500 requests/minute',
    'a quota of jobs to have no unit, such as "500/minute", got: "500 requests/minute"',
  ],
  [
    '10000 units per day 100 each in America/Los_Angeles',
    "the zone before what a job counts, as in 'per day in America/Los_Angeles 100 each'",
  ],
  [
    '10 per day in Los Angeles',
    'a time zone without spaces, such as America/Los_Angeles or UTC, got: "Los Angeles"',
  ],
  ['10 per day in PST', /got: "PST"$/],
  [
    '0.5/day',
    'the amount of a quota is a whole number; for less than one in a window, make the window longer',
  ],
  ['10/day in', "behind 'in', such as '10 per day in America/Los_Angeles', got: \"10/day in\""],
  ['9 tokens/minute 1.5 each', 'a whole number, such as \'1200 each\', got: "1.5 each" in "9 tokens'],
  ['10 bytes/day 11 each', /from 1 to the amount of the quota \(10\), got: 11$/],
  [
    '1000000000000 bytes/day 2000000000 each',
    'from 1 to 1000000000, the most that a job may count, got: 2000000000; count in a larger unit, such as kilobytes for bytes',
  ],
  ['1000000000000 bytes/day 0 each', /from 1 to 1000000000, the most that a job may count, got: 0$/],
])('a part that is no part of a limit, %j, is explained', (part, hint) => {
  expect(messageOf(`100, 10/s, ${part}`)).toMatch(hint)
})

test.each([
  ['9, 500 requests/minute', "expected the rate to count jobs without a unit, such as '10/s'"],
  ['9, 0/day', 'got: "0/day"; to let nothing start, pause the key'],
  ['9, 10000/year', 'got: "year": write 365 days for a year'],
  ['9, 10/weeks', 'write 7 days for a week'],
  [
    { capacity: 9, rate: '1/s', quotas: ['10,000/day'] },
    'one quota in each text, and no comma inside a number',
  ],
  [{ capacity: 9, rate: '1/s', quotas: ['2000/day, 5 at once'] }, 'one quota in each text'],
  [{ capacity: 9, rate: '1/s', quotas: '2000/day' }, "a list of at most 8, such as ['2000/day']"],
  [{ capacity: 9, rate: '1/s', quotas: [{ amount: 9, per: 'day', in: 7 }] }, /or UTC, got: 7$/],
  [
    { capacity: 9, rate: '1/s', quotas: [{ amount: '10', per: 'day' }] },
    /a whole number from 1 to 1000000000000, got: "10" \(string\)$/,
  ],
])('%j is explained', (limit, hint) => {
  expect(messageOf(limit)).toMatch(hint)
})

test('a unit that means jobs is a unit where the limit says how many each counts', () => {
  expect(parseLimit('100, 10/s, 500 requests/minute 2 each').quotas[0]).toMatchObject({
    unit: 'requests',
    each: 2,
  })
})
