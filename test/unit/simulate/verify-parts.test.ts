import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { InvalidInputError } from '../../../src/core/errors.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { departuresHeader, formatDeparture } from '../../../src/simulate/departures-csv.ts'
import { readDepartures } from '../../../src/simulate/read-departures.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'
import { verifyDepartures } from '../../../src/simulate/verify-departures.ts'

const UNITS = ['tokens', 'images']

async function verify(text: string, limit: string) {
  async function* chunks() {
    yield new TextEncoder().encode(text)
  }
  const rows = await readDepartures('out', chunks(), UNITS)
  return verifyDepartures(rows, new RuleBook({ '*': limit }))
}

async function breaches(text: string, limit: string) {
  return (await verify(text, limit)).breaches.map(({ law, id }) => `${law} ${id}`)
}

/** Starts of one key, far enough apart for any pace here. */
const starts = (columns: string, ...rows: string[]): string =>
  [`key,departs_s${columns}`, ...rows.map((row) => `a,${row}`)].join('\n')

describe('quotas with a unit', () => {
  const LIMIT = '9, 10/s, 100 tokens/minute 30 each'

  it('count what a row names, and else what the limit says', async () => {
    expect(await breaches(starts(',tokens', '0,40', '1,60'), LIMIT)).toEqual([])
    expect(await breaches(starts(',tokens', '0,41', '1,60'), LIMIT)).toEqual(['L10 line 3'])
    expect(await breaches(starts(',tokens', '0,70', '1,'), LIMIT)).toEqual([])
    expect(await breaches(starts(',tokens', '0,71', '1,'), LIMIT)).toEqual(['L10 line 3'])
    expect(await breaches(starts(',tokens', '0,100', '60,100'), LIMIT)).toEqual([])
  })

  it('count what JSON lines name', async () => {
    const lines = (tokens: number) =>
      `{"key":"a","departs_s":0,"tokens":40}\n{"key":"a","departs_s":1,"tokens":${tokens}}\n`
    expect(await breaches(lines(60), LIMIT)).toEqual([])
    expect(await breaches(lines(61), LIMIT)).toEqual(['L10 line 2'])
  })

  it('count what a start really took from the time on at which it was said', async () => {
    const columns = ',tokens,tokens_settled,settled_s'
    expect(await breaches(starts(columns, '0,90,10,2', '2,90,,'), LIMIT)).toEqual([])
    expect(await breaches(starts(columns, '0,90,10,2', '1.9,90,,'), LIMIT)).toEqual(['L10 line 3'])
    expect(await breaches(starts(columns, '0,10,95,2', '1,10,,'), LIMIT)).toEqual([])
    expect(await breaches(starts(columns, '0,10,95,2', '3,10,,'), LIMIT)).toEqual(['L10 line 3'])
    // With the rest of a start that cost nothing.
    expect(await breaches(starts(columns, '0,90,0,2', '3,100,,'), LIMIT)).toEqual([])
  })

  it('of a start that was settled after its end count the estimate, and that is a breach', async () => {
    const columns = ',tokens,tokens_settled,settled_s,ends_s'
    expect(await breaches(starts(columns, '0,90,10,2,3', '4,90,,,5'), LIMIT)).toEqual([])
    expect(await breaches(starts(columns, '0,90,10,3.5,3', '4,90,,,5'), LIMIT)).toEqual([
      'L10 line 2',
      'L10 line 3',
    ])
  })
})

test('quotas of a calendar count by the days of their zone', async () => {
  // Before, and after midnight of Berlin on the 31st of March 2024, a day of 23 hours.
  const [evening, morning, evening2] = ['1711839500', '1711839700', '1711922300']
  const limit = '9, 1/s, 2 per day in Europe/Berlin'
  expect(await breaches(starts('', evening, evening.replace(/00$/, '10'), morning), limit)).toEqual([])
  expect(await breaches(starts('', morning, evening2, '1711922310'), limit)).toEqual(['L10 line 4'])
  // A second more, and the day is over.
  expect(await breaches(starts('', morning, evening2, '1711922401'), limit)).toEqual([])
})

describe('places', () => {
  const LIMIT = '9, 10/s, 2 at once'

  it('are taken from the departure to the end', async () => {
    const rows = (third: string) => starts(',ends_s', '0,5', '1,3', third)
    expect(await verify(rows('3,4'), LIMIT)).toMatchObject({
      judged: ['L2', 'L11'],
      unknown: [expect.stringContaining('L1, L3, L4 and L5')],
      breaches: [],
    })
    const { breaches: found } = await verify(rows('2.9,4'), LIMIT)
    expect(found.map(({ law, id }) => [law, id])).toEqual([['L11', 'line 4']])
    expect(found[0]!.message).toContain('made 3 attempts run at once, expected at most 2')
  })

  it('of attempts without an end stay taken', async () => {
    expect(await breaches(starts(',ends_s', '0,', '1,2', '3,4', '4,'), LIMIT)).toEqual([])
    expect(await breaches(starts(',ends_s', '0,', '1,', '9,'), LIMIT)).toEqual([])
    expect(await breaches(starts(',ends_s', '0,', '1,', '9,10'), LIMIT)).toEqual(['L11 line 4'])
  })

  it('are free for the next where six decimals do not tell the two apart', async () => {
    expect(await breaches(starts(',ends_s', '0,1.333334', '1,9', '1.333333,5'), LIMIT)).toEqual([])
    expect(await breaches(starts(',ends_s', '0,0', '1,1', '2,2'), '9, 10/s, 1 at once')).toEqual([])
  })

  it('of each key are its own', async () => {
    expect(await breaches('key,departs_s,ends_s\na,0,9\nb,0,9\na,1,9\nb,1,9\n', LIMIT)).toEqual([])
  })

  it('are not judged in a file without ends, and it is said', async () => {
    const { judged, unknown, breaches: found } = await verify(starts('', '0', '1', '2'), LIMIT)
    expect(judged).toEqual(['L2'])
    expect(unknown).toContain('no row has ends_s: places (L11) are not checked')
    expect(found).toEqual([])
  })
})

const HEADER = 'offset_s,key,cost,verdict,position,departs_s,wait_s,retry_after_s'
const full = (columns: string, ...rows: string[]): string => [`${HEADER}${columns}`, ...rows].join('\n')

describe('the rate of a key with places', () => {
  // Two places, ten a second: two start at once, and the third when one of them ends.
  const rows = (third: string) =>
    full(
      ',ends_s',
      '0,a,1,accepted,1,0,0,,5',
      '0,a,1,accepted,1,0.1,0.1,,3',
      `0,a,1,accepted,2,${third},${third},,9`,
    )

  it('may be less while all are taken, and is judged where one is free', async () => {
    expect(await breaches(rows('3'), '9, 10/s, 2 at once')).toEqual([])
    expect(await breaches(rows('3'), '9, 10/s, 3 at once')).toEqual(['L3 undefined'])
    expect((await verify(rows('3'), '9, 10/s, 2 at once')).judged).toContain('L3')
  })

  it('is not judged in a file without ends, and it is said', async () => {
    const text = full('', '0,a,1,accepted,1,0,0,', '0,a,1,accepted,1,3,3,')
    expect(await verify(text, '9, 10/s, 2 at once')).toMatchObject({
      unknown: ['no row has ends_s: places (L11) are not checked, nor the rate (L3) of keys that have them'],
      breaches: [],
    })
    expect(await breaches(text, '9, 10/s')).toEqual(['L3 undefined'])
  })
})

it('says which units no row names', async () => {
  const limit = '9, 1/s, 9 tokens/minute 1 each, 9 images/minute 1 each'
  const { unknown } = await verify(full(',tokens', '0,a,1,accepted,1,0,0,,3'), limit)
  expect(unknown).toEqual(['no row has images: each job counts as many as its limit says'])
})

describe('a bad column', () => {
  it.each([
    [starts(',tokens', '0,1.5'), '2:5: expected tokens to be a whole number from 1 to 1000000000, got: 1.5'],
    [
      starts(',tokens', '0,many'),
      '2:5: expected tokens to be a whole number from 1 to 1000000000, got: "many"',
    ],
    [starts(',tokens', '0'), '2:4: expected a value for tokens, got the end of the line'],
    [starts(',ends_s', '2,1'), '2:5: expected ends_s to be departs_s, 2, or later, got: 1'],
    [starts(',ends_s', '2,later'), '2:5: expected ends_s to be a number of seconds, got: "later" (string)'],
    [starts(',tokens_settled', '0,1'), '1:1: expected a header with the column settled_s'],
    [starts(',tokens_settled,settled_s', '0,1,'), '2:5: expected settled_s beside tokens_settled, got: none'],
    [
      starts(',tokens_settled,settled_s', '0,,1'),
      '2:6: expected tokens_settled or images_settled beside settled_s, got: none',
    ],
    [
      starts(',tokens_settled,settled_s', '0,-1,1'),
      '2:5: expected tokens_settled to be a whole number from 0 to 1000000000, got: -1',
    ],
    [
      starts(',tokens_settled,settled_s', '2,1,1'),
      '2:7: expected settled_s to be departs_s, 2, or later, got: 1',
    ],
    ['{"key":"a","departs_s":"0"}', '1:12: expected departs_s to be a number of seconds, got: "0" (string)'],
    ['{"key":"a"}', '1:1: expected departs_s to be a number of seconds, got: undefined'],
    ['{"key":"a","departs_s":0,"tokens":0}', '1:26: expected tokens to be a whole number from 1'],
    [
      '{"key":"a","departs_s":0,"tokens_settled":1}',
      '1:26: expected settled_s beside tokens_settled, got: none',
    ],
    ['{"offset_s":0,"key":"a","verdict":1}', '1:25: expected the verdict to be accepted or rejected, got: 1'],
  ])('is refused with its position: %j', async (text, message) => {
    const failure = await verify(text, '9, 1/s').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidInputError)
    expect((failure as Error).message).toContain(`out:${message}`)
  })
})

test('what simulate writes under any limit keeps all laws, and names costs and ends', async () => {
  const limit = fc.constantFrom(
    '20, 3/s, 5 per 4 seconds',
    '9, 7/s, 90 tokens/minute 7 each, 30 images per 20 seconds 2 each',
    '15, 9/s, 2 at once',
    '15, 9/s, warm-up 3s, 3 at once, 40 tokens per 7 seconds 4 each, 12 per 6 seconds',
    '30, 3/s, 40 per hour in Australia/Lord_Howe, 70 tokens per day in Europe/Berlin 2 each',
  )
  const named = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined })
  const arrival = fc.record({
    after: fc.oneof(fc.constant(0), fc.nat(900_000), fc.nat(20_000_000)),
    key: fc.constantFrom('a', 'b'),
    cost: fc.integer({ min: 1, max: 3 }),
    tokens: named,
    images: named,
  })
  await fc.assert(
    fc.asyncProperty(
      limit,
      fc.array(arrival, { minLength: 1, maxLength: 80, size: 'max' }),
      fc.integer({ min: 1, max: 4_000_000 }),
      async (text, arrivals, handlerTime) => {
        const simulation = new Simulation(new RuleBook({ '*': text }), handlerTime)
        const columns = { units: UNITS, handlerTime }
        let file = departuresHeader(columns)
        // Ten minutes before the clocks of Berlin are set.
        let at = 1_711_846_200e6
        for (const { after, key, cost, tokens, images } of arrivals) {
          at += after
          const costs = { ...(tokens && { tokens }), ...(images && { images }) }
          const one = { at, key, cost, costs }
          file += formatDeparture(one, simulation.offer(one), columns)
        }
        const { judged, breaches: found } = await verify(file, text)
        expect(found).toEqual([])
        expect(judged.includes('L11')).toBe(text.includes('at once'))
      },
    ),
    { numRuns: 200 },
  )
})
