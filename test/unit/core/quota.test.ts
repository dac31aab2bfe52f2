import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { periodAround } from '../../../src/core/calendar.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/duration.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import {
  BOUNDARY,
  boundsAt,
  carryOver,
  charge,
  createUse,
  forgettableAt,
  isRolling,
  lengthOf,
  type Quota,
  roomAt,
  tidy,
  usedAt,
} from '../../../src/core/quota.ts'

const quotaOf = (text: string): Quota => parseLimit(`9, 1/s, ${text}`).quotas[0]!
const at = (text: string) => Date.parse(text) * 1_000

/** Starts of so many units each as early as the quota allows; returns when. */
function startAll(quota: Quota, units: readonly number[], from = 0, use = createUse()): number[] {
  let now = from
  return units.map((unit) => {
    now = roomAt(quota, use, unit, now)
    tidy(quota, use, now)
    charge(quota, use, unit, now)
    return now
  })
}

test('where the clock is set back over midnight, a quota of a day holds, and has room at no time before it is asked', () => {
  const quota = quotaOf('2 per day in America/St_Johns')
  const from = at('2010-11-07T02:45Z')
  const next = at('2010-11-08T03:30Z') + BOUNDARY
  expect(startAll(quota, [1, 1, 1, 1], from)).toEqual([from, from, next, next])
})

describe('a rolling quota', () => {
  const quota = quotaOf('3/minute')

  test('has room for its amount at once, and again when the part of the window is over in which that started', () => {
    expect(startAll(quota, [1, 1, 1, 1, 2, 1], 500_000)).toEqual([
      500_000, 500_000, 500_000, 61_000_000, 61_000_000, 122_000_000,
    ])
  })

  test('never allows more in any window than its amount, and loses at most a sixtieth of the window', () => {
    const units = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 200 })
    const length = fc.constantFrom(SECOND, 7_777_777, MINUTE, HOUR, DAY)
    fc.assert(
      fc.property(units, length, fc.integer({ min: 0, max: 2 ** 50 }), (costs, window, from) => {
        const amount = 60
        const rolling: Quota = { amount, unit: undefined, each: undefined, window: { length: window } }
        const starts = startAll(rolling, costs, from)
        for (const [index, start] of starts.entries()) {
          const within = costs.filter((_, other) => other <= index && starts[other]! > start - window)
          expect(within.reduce((sum, cost) => sum + cost, 0)).toBeLessThanOrEqual(amount)
          // It waited only for what started a little more than a window ago.
          if (index === 0 || start === starts[index - 1]) continue
          const recent = costs.filter(
            (_, other) => other < index && starts[other]! >= start - 1 - window * (62 / 60),
          )
          expect(recent.reduce((sum, cost) => sum + cost, costs[index]!)).toBeGreaterThan(amount)
        }
      }),
    )
  })

  test('takes back a start that did not happen, and counts one that is settled by what it took', () => {
    const use = createUse()
    charge(quota, use, 3, 0)
    expect(roomAt(quota, use, 1, 10)).toBe(61 * SECOND)
    charge(quota, use, -1, 0)
    expect(roomAt(quota, use, 1, 10)).toBe(10)
    charge(quota, use, -2, 0)
    expect(use).toEqual({ ends: [], used: [] })
    charge(quota, use, -2, 0)
    expect(use).toEqual({ ends: [], used: [] })
    charge(quota, use, 5, 0)
    expect([usedAt(quota, use, 10), roomAt(quota, use, 3, 10)]).toEqual([5, 61 * SECOND])
  })

  test('has room for more than its amount only when nothing else counts', () => {
    const use = createUse()
    expect(roomAt(quota, use, 7, 10)).toBe(10)
    charge(quota, use, 1, 0)
    charge(quota, use, 1, 30 * SECOND)
    expect(roomAt(quota, use, 7, 10)).toBe(91 * SECOND)
    expect(roomAt(quota, use, 7, 62 * SECOND)).toBe(91 * SECOND)
  })

  test('counts starts that come in any order', () => {
    const use = createUse()
    for (const second of [30, 0, 90, 31]) charge(quota, use, 1, second * SECOND)
    expect(use.ends).toEqual([61, 91, 92, 151].map((second) => second * SECOND))
    expect(forgettableAt(use)).toBe(151 * SECOND)
    expect(forgettableAt(createUse())).toBe(Number.NEGATIVE_INFINITY)
  })

  test('forgets what is over, and after the clock was set back lets nothing count for longer than a new start', () => {
    const use = createUse()
    for (const second of [0, 30, 600]) charge(quota, use, 1, second * SECOND)
    tidy(quota, use, 61 * SECOND)
    expect(use).toEqual({ ends: [91 * SECOND, 122 * SECOND], used: [1, 1] })
    tidy(quota, use, 700 * SECOND)
    expect(use).toEqual({ ends: [], used: [] })
    tidy(quota, use, 0)
    expect(use).toEqual({ ends: [], used: [] })
  })

  test('keeps at most 61 entries', () => {
    const use = createUse()
    for (let now = 0; now < 10 * MINUTE; now += SECOND / 4) {
      tidy(quota, use, now)
      charge(quota, use, 1, now)
      expect(use.ends.length).toBeLessThanOrEqual(61)
    }
  })
})

describe('a quota of the calendar', () => {
  const quota = quotaOf('2 per day in Europe/Berlin')
  const midnight = at('2026-10-24T22:00Z')

  test('has room again a second and a bit after the day is over, which may have 25 hours', () => {
    const next = midnight + 25 * HOUR + BOUNDARY
    expect(startAll(quota, [1, 1, 1, 1, 1], midnight + HOUR)).toEqual([
      midnight + HOUR,
      midnight + HOUR,
      next,
      next,
      next + 24 * HOUR,
    ])
  })

  test('counts a start within a second of the boundary in both days', () => {
    const use = createUse()
    charge(quota, use, 2, midnight - SECOND / 2)
    expect(use.ends).toEqual([midnight + BOUNDARY, midnight + 25 * HOUR + BOUNDARY])
    expect(roomAt(quota, use, 1, midnight - HOUR)).toBe(midnight + 25 * HOUR + BOUNDARY)
    expect(usedAt(quota, use, midnight + HOUR)).toBe(2)
    expect(usedAt(quota, use, midnight + 30 * HOUR)).toBe(0)
    charge(quota, use, -2, midnight - SECOND / 2)
    expect(use.ends).toEqual([])
  })

  test('has room for more than its amount on a day on which nothing started', () => {
    const use = createUse()
    charge(quota, use, 1, midnight + HOUR)
    expect(roomAt(quota, use, 5, midnight + HOUR)).toBe(midnight + 25 * HOUR + BOUNDARY)
  })

  test('after the clock was set back counts what was later as of today', () => {
    const use = createUse()
    charge(quota, use, 2, midnight + 100 * HOUR)
    tidy(quota, use, midnight + HOUR)
    expect(use).toEqual({ ends: [midnight + 25 * HOUR + BOUNDARY], used: [2] })
  })
})

describe('a quota that takes over from another', () => {
  test.each([
    ['3/minute', '3/hour'],
    ['3/hour', '3/minute'],
    ['3/hour', '3 per day in UTC'],
    ['3 per day in UTC', '3/hour'],
    ['3 per day in UTC', '3 per week in Europe/Berlin'],
  ])('%s, by %s, allows no more than it would have, had it been in force', (before, after) => {
    const [from, to] = [quotaOf(before), quotaOf(after)]
    const start = at('2026-10-24T21:59:59.900Z')
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 20 }), (minutes) => {
        const [use, exact] = [createUse(), createUse()]
        let now = start
        for (const minute of minutes) {
          now += minute * MINUTE
          tidy(from, use, now)
          charge(from, use, 1, now)
          charge(to, exact, 1, now)
        }
        // What the first has forgotten is not known any more.
        const since = isRolling(from.window) ? now - from.window.length : periodAround(from.window, now).from
        const known = createUse()
        for (const [index, end] of exact.ends.entries()) {
          if (end - lengthOf(to.window) <= since) continue
          known.ends.push(end)
          known.used.push(exact.used[index]!)
        }
        const carried = carryOver(from, use, to, now)
        if ('length' in to.window || !('length' in from.window)) {
          expect(roomAt(to, carried, 1, now)).toBeGreaterThanOrEqual(roomAt(to, known, 1, now))
        }
        expect(usedAt(to, carried, now)).toBeLessThanOrEqual(minutes.length * 2)
      }),
    )
  })

  test('does not carry what is over', () => {
    const use = createUse()
    charge(quotaOf('3/minute'), use, 1, 0)
    expect(carryOver(quotaOf('3/minute'), use, quotaOf('3/hour'), 2 * MINUTE)).toEqual({ ends: [], used: [] })
  })
})

test('a window looks back as far as it is long', () => {
  expect(
    ['5/hour', '5 per 3s', '5 per hour in UTC', '5 per day in UTC', '5 per week in UTC'].map((text) => {
      return lengthOf(quotaOf(text).window)
    }),
  ).toEqual([HOUR, 3 * SECOND, HOUR, DAY, 7 * DAY])
})

test('the bounds of three periods begin with the one in which a start of now counts first', () => {
  const window = { period: 'day', zone: 'America/New_York' } as const
  // The night in which the clocks are set forward: a day of 23 hours.
  const days = ['2026-03-07T05:00Z', '2026-03-08T05:00Z', '2026-03-09T04:00Z', '2026-03-10T04:00Z'].map(at)
  expect(boundsAt(window, at('2026-03-08T04:00Z'))).toEqual(days)
  expect(boundsAt(window, days[1]! + BOUNDARY - 1)).toEqual(days)
  expect(boundsAt(window, days[1]! + BOUNDARY)).toEqual([...days.slice(1), at('2026-03-11T04:00Z')])
})
