import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import type { CalendarWindow } from '../../../src/core/calendar.ts'
import type { Quota } from '../../../src/core/quota.ts'
import { accept, inOrder, limit, quota, run, start } from '../../support/history.ts'

const US = 0.001
const SECOND = 1_000
const HOUR = 3_600_000
const ruled = (at: number, ...quotas: Quota[]) => limit(at, '9000, 1000/s, tolerance 0', 'a', { quotas })
const by = (period: CalendarWindow['period'], zone = 'UTC'): CalendarWindow => ({ period, zone })
const ms = (text: string) => Date.parse(text)

/** The jobs with which L10 is broken. */
function broken(...history: (HistoryEvent | HistoryEvent[])[]) {
  const breaches = checkHistory(inOrder(...history), { unfinished: true })
  expect(breaches.filter(({ law }) => law !== 'L10')).toEqual([])
  return breaches.map(({ id }) => id)
}

/** Starts at these times, under a quota of `amount` in each period. */
function starts(amount: number, window: CalendarWindow, ...times: number[]) {
  const from = Math.min(...times)
  return broken(
    ruled(from, quota(amount, window)),
    times.flatMap((at, index) => run(at, `j${index}`, { from })),
  )
}

test('a period holds its amount, however it is spaced', () => {
  const noon = ms('2026-03-05T12:00:00Z')
  expect(starts(2, by('hour'), noon + 2 * SECOND, noon + 3 * SECOND, noon + HOUR + SECOND)).toEqual([])
  expect(starts(2, by('hour'), noon + SECOND, noon + 9 * SECOND, noon + HOUR - SECOND)).toEqual(['j2'])
})

test('a start within a second of a boundary counts in both periods, to the microsecond', () => {
  const noon = ms('2026-03-05T12:00:00Z')
  expect(starts(1, by('hour'), noon - SECOND, noon + SECOND)).toEqual([])
  expect(starts(1, by('hour'), noon - SECOND + US, noon + SECOND)).toEqual(['j1'])
  expect(starts(1, by('hour'), noon - SECOND, noon + SECOND - US)).toEqual(['j1'])
  expect(starts(1, by('hour'), noon - 1, noon + 1)).toEqual(['j1'])
  // Two of them are at most the amount of either period.
  expect(starts(2, by('hour'), noon - 2 * SECOND, noon - 1, noon + 1)).toEqual(['j2'])
  expect(starts(2, by('hour'), noon - 1, noon + 1, noon + 2 * SECOND)).toEqual(['j2'])
})

test('periods are judged by the clock of the line', () => {
  const noon = ms('2026-03-05T12:00:00Z')
  const [x, y] = [accept(noon - 9_000, 'x'), accept(noon - 9_000, 'y')]
  const read = { readAt: noon - 5_000 }
  const two = [start(noon - 8_000, 'x'), start(noon + SECOND, 'y', read)]
  expect(broken(ruled(noon - 9_000, quota(1, by('hour'))), x, y, two)).toEqual([])
})

test('a day is one of its zone', () => {
  const midnight = ms('2026-01-15T08:00:00Z')
  const zone = 'America/Los_Angeles'
  expect(starts(1, by('day', zone), midnight - SECOND, midnight + SECOND)).toEqual([])
  expect(starts(1, by('day', zone), midnight + SECOND, midnight + 23 * HOUR)).toEqual(['j1'])
  expect(starts(1, by('day', 'UTC'), midnight - SECOND, midnight + SECOND)).toEqual(['j1'])
})

test('a day is as long as daylight saving makes it', () => {
  const zone = 'America/Los_Angeles'
  // 23 hours: clocks go forward on 8 March 2026.
  const spring = ms('2026-03-08T08:00:00Z')
  expect(starts(1, by('day', zone), spring + SECOND, spring + 23 * HOUR + SECOND)).toEqual([])
  expect(starts(1, by('day', zone), spring + SECOND, spring + 23 * HOUR - SECOND)).toEqual(['j1'])
  // 25 hours: they go back on 1 November.
  const autumn = ms('2026-11-01T07:00:00Z')
  expect(starts(1, by('day', zone), autumn + SECOND, autumn + 25 * HOUR - SECOND)).toEqual(['j1'])
  expect(starts(1, by('day', zone), autumn + SECOND, autumn + 24 * HOUR + SECOND)).toEqual(['j1'])
  expect(starts(1, by('day', zone), autumn + SECOND, autumn + 25 * HOUR + SECOND)).toEqual([])
})

test('an hour that the clock shows twice is one of two hours', () => {
  const zone = 'America/Los_Angeles'
  const first = ms('2026-11-01T08:00:00Z')
  expect(starts(1, by('hour', zone), first + SECOND, first + 2 * HOUR + SECOND)).toEqual([])
  expect(starts(1, by('hour', zone), first + SECOND, first + HOUR + SECOND)).toEqual(['j1'])
})

test('a week begins on Monday', () => {
  const monday = ms('2026-03-02T00:00:00Z')
  expect(starts(1, by('week'), monday - SECOND, monday + SECOND)).toEqual([])
  expect(starts(1, by('week'), monday + SECOND, monday + 7 * 24 * HOUR - SECOND)).toEqual(['j1'])
})

test('a job above the whole amount starts alone in its periods', () => {
  const noon = ms('2026-03-05T12:00:00Z')
  const big = (at: number) => [
    ruled(noon - HOUR, quota(9, by('hour'))),
    run(noon - SECOND, 'x', { from: noon - HOUR }),
    accept(noon - 2 * SECOND, 'big', { cost: 5 }),
    ruled(noon - 1, quota(3, by('hour'))),
    start(at, 'big', { cost: 5 }),
  ]
  expect(broken(...big(noon + SECOND))).toEqual([])
  expect(broken(...big(noon + SECOND - US))).toEqual(['big'])
})

test('a changed quota goes on from the period, or from the window, that was counted', () => {
  const noon = ms('2026-03-05T12:00:00Z')
  const changed = (before: Quota, x: number, after: Quota, y: number) =>
    broken(
      ruled(noon - 2 * HOUR, before),
      run(x, 'x', { from: noon - 2 * HOUR }),
      ruled(noon + 10 * SECOND, after),
      run(y, 'y', { from: noon }),
    )
  const [hour, day, minute] = [quota(1, by('hour')), quota(1, by('day')), quota(1, 60 * SECOND)]
  expect(changed(hour, noon + SECOND, day, noon + 5 * HOUR)).toEqual(['y'])
  expect(changed(hour, noon - 2 * SECOND, day, noon + 5 * HOUR)).toEqual([])
  expect(changed(hour, noon + SECOND, minute, noon + 61 * SECOND - US)).toEqual(['y'])
  expect(changed(hour, noon + SECOND, minute, noon + 61 * SECOND)).toEqual([])
  expect(changed(minute, noon - 40 * SECOND, hour, noon + 20 * SECOND)).toEqual([])
  expect(changed(minute, noon + SECOND, hour, noon + HOUR - SECOND)).toEqual(['y'])
  expect(changed(hour, noon + SECOND, quota(2, by('hour')), noon + 20 * SECOND)).toEqual([])
  expect(changed(hour, noon + SECOND, quota(1, by('hour')), noon + 20 * SECOND)).toEqual(['y'])
  // The hours of another zone are other periods.
  expect(changed(hour, noon - 20 * SECOND, quota(1, by('hour', 'Asia/Kolkata')), noon + 20 * SECOND)).toEqual(
    [],
  )
})

test('says in which period', () => {
  const noon = ms('2026-03-05T12:00:00Z')
  const history = inOrder(
    ruled(noon, quota(1, by('hour'))),
    run(noon + 1, 'x', { from: noon }),
    run(noon + 2, 'y', { from: noon }),
  )
  expect(checkHistory(history)[0]?.message).toContain(
    'made 2 cost units start in one hour of UTC, 1 before it, expected at most 1',
  )
})
