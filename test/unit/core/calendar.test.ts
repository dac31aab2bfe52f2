import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { clockChanges, endOfPeriod, PERIODS, periodAround, zoneNamed } from '../../../src/core/calendar.ts'
import { HOUR } from '../../../src/core/duration.ts'
import { FARTHEST_STEP } from '../../../src/core/walk.ts'

const at = (text: string) => Date.parse(text) * 1_000
const hours = (zone: string, period: (typeof PERIODS)[number], text: string) => {
  const { from, until } = periodAround({ period, zone }, at(text))
  return [new Date(from / 1_000).toISOString().slice(0, 16), (until - from) / HOUR]
}

describe('where the clock of a zone changes', () => {
  test.each([
    ['Europe/Berlin', 'day', '2026-10-25T10:00Z', '2026-10-24T22:00', 25],
    ['Europe/Berlin', 'day', '2026-03-29T10:00Z', '2026-03-28T23:00', 23],
    ['Europe/Berlin', 'week', '2026-10-25T10:00Z', '2026-10-18T22:00', 169],
    ['Europe/Berlin', 'week', '2026-03-29T10:00Z', '2026-03-22T23:00', 167],
    ['Europe/Berlin', 'hour', '2026-03-29T00:59Z', '2026-03-29T00:00', 1],
    ['America/Los_Angeles', 'day', '2026-11-01T20:00Z', '2026-11-01T07:00', 25],
    ['America/Los_Angeles', 'day', '2026-03-08T20:00Z', '2026-03-08T08:00', 23],
    ['Australia/Lord_Howe', 'day', '2026-04-05T00:00Z', '2026-04-04T13:00', 24.5],
    ['Australia/Lord_Howe', 'day', '2026-10-04T00:00Z', '2026-10-03T13:30', 23.5],
    ['America/Sao_Paulo', 'day', '2018-11-04T12:00Z', '2018-11-04T03:00', 23],
    // It is set back over midnight: what it shows of the day before once more belongs to the day that has begun.
    ['America/St_Johns', 'day', '2010-11-07T02:29Z', '2010-11-06T02:30', 24],
    ['America/St_Johns', 'day', '2010-11-07T02:30Z', '2010-11-07T02:30', 25],
    ['America/St_Johns', 'day', '2010-11-07T02:45Z', '2010-11-07T02:30', 25],
    ['America/St_Johns', 'day', '2010-11-07T03:31Z', '2010-11-07T02:30', 25],
    ['Antarctica/Casey', 'day', '2010-03-04T15:30Z', '2010-03-04T13:00', 27],
    ['America/St_Johns', 'week', '2010-11-08T03:29Z', '2010-11-01T02:30', 169],
    ['Asia/Kathmandu', 'hour', '2026-01-01T00:20Z', '2026-01-01T00:15', 1],
    // It shows half an hour twice, or leaves it out.
    ['Australia/Lord_Howe', 'hour', '2026-04-04T15:10Z', '2026-04-04T14:00', 1.5],
    ['Australia/Lord_Howe', 'hour', '2026-04-04T14:10Z', '2026-04-04T14:00', 1.5],
    ['Australia/Lord_Howe', 'hour', '2026-10-03T15:45Z', '2026-10-03T15:30', 0.5],
    ['America/Toronto', 'hour', '1919-03-31T04:10Z', '1919-03-31T04:00', 0.5],
    ['Europe/Berlin', 'hour', '2026-10-25T00:10Z', '2026-10-25T00:00', 2],
    ['Europe/Berlin', 'hour', '2026-10-25T01:50Z', '2026-10-25T00:00', 2],
  ] as const)('in %s the %s of %s begins at %s and has %d hours', (zone, period, text, from, length) => {
    expect(hours(zone, period, text)).toEqual([from, length])
  })
})

test('periods follow each other without a gap', () => {
  const zone = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/Los_Angeles',
    'Australia/Lord_Howe',
    'America/Sao_Paulo',
    'Asia/Beirut',
    'Pacific/Apia',
    'Asia/Kathmandu',
    'America/Toronto',
    'America/St_Johns',
    'Antarctica/Casey',
  )
  const moment = fc.oneof(
    fc.integer({ min: 0, max: 1.8e9 }),
    // Around changes of clocks.
    fc
      .tuple(
        fc.constantFrom(1775311200, 1791039600, 1792890000, 1774746000, 1541300400, 1289097060, 1267714800),
        fc.integer({ min: -9_000, max: 9_000 }),
      )
      .map(([change, by]) => change + by),
  )
  fc.assert(
    fc.property(zone, fc.constantFrom(...PERIODS), moment, (name, period, seconds) => {
      const window = { zone: name, period }
      const now = seconds * 1e6 + 999_999
      const { from, until } = periodAround(window, now)
      expect(from <= now && now < until).toBe(true)
      expect(periodAround(window, from)).toEqual({ from, until })
      expect(periodAround(window, until - 1)).toEqual({ from, until })
      expect(periodAround(window, until).from).toBe(until)
      expect(periodAround(window, from - 1).until).toBe(from)
    }),
  )
})

test('the end of a period is the same however often and in which order it is asked for', () => {
  const window = { zone: 'UTC', period: 'hour' } as const
  const asked = [0, 5, 1, 6, 2, 7, 0, 3, 9, 0].map((hour) => endOfPeriod(window, hour * HOUR + 5))
  expect(asked).toEqual([0, 5, 1, 6, 2, 7, 0, 3, 9, 0].map((hour) => (hour + 1) * HOUR))
})

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['UTC', 'UTC'],
  ['america/port-au-prince', 'America/Port-au-Prince'],
  ['+0530', '+05:30'],
  ['Mars/Base', undefined],
  ['', undefined],
  ['2026-01-01T00:00Z', undefined],
  ['2026-01-01T00:00+01:00[Europe/Berlin]', undefined],
])('%j is the zone %j', (name, zone) => expect(zoneNamed(name)).toBe(zone))

test('as many periods as a forecast follows jobs are computed once', () => {
  const window = { period: 'hour', zone: 'Europe/Berlin' } as const
  const computing = vi.spyOn(Temporal.Instant, 'fromEpochMilliseconds')
  onTestFinished(() => computing.mockRestore())
  const follow = () => {
    let end = at('2026-03-20T00:00Z')
    for (let job = 0; job < FARTHEST_STEP; job++) end = endOfPeriod(window, end)
    return end
  }
  const last = follow()
  expect(computing).toHaveBeenCalledTimes(FARTHEST_STEP)
  expect(follow()).toBe(last)
  expect(computing).toHaveBeenCalledTimes(FARTHEST_STEP)
})

describe('the changes of a clock', () => {
  const seconds = (text: string) => Date.parse(text) / 1_000
  const year = [seconds('2026-01-01T00:00:00Z'), seconds('2027-01-01T00:00:00Z')] as const
  const spring = { at: seconds('2026-03-29T01:00:00Z'), offset: 7_200 }
  const autumn = { at: seconds('2026-10-25T01:00:00Z'), offset: 3_600 }

  test('are those between two moments, in seconds', () => {
    const known = { from: year[0], until: year[1], offset: 3_600 }
    expect(clockChanges('Europe/Berlin', ...year, 9)).toEqual({ ...known, changes: [spring, autumn] })
  })

  test('are known until the first that there is no room for', () => {
    const known = { from: year[0], until: autumn.at, offset: 3_600 }
    expect(clockChanges('Europe/Berlin', ...year, 1)).toEqual({ ...known, changes: [spring] })
  })

  test('are none where the clock is never set', () => {
    expect(clockChanges('Etc/GMT-5', ...year, 9)).toEqual({
      from: year[0],
      until: year[1],
      offset: 18_000,
      changes: [],
    })
  })
})
