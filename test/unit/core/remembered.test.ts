import { describe, expect, test } from 'vitest'
import { changeLimit, createBucket, forgettableAt, isIdle } from '../../../src/core/bucket.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/core/duration.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import { BOUNDARY, usedAt } from '../../../src/core/quota.ts'
import { formatQuota } from '../../../src/core/quota-input.ts'
import { changeCounted, countedUnder, hasOver, MOST_REMEMBERED } from '../../../src/core/remembered.ts'
import * as usages from '../../../src/core/usage.ts'

const DAY = 24 * HOUR
const PACE = '9, 10/s, tolerance 0'
const NOON = Date.parse('2026-03-04T12:00Z') * 1_000
const limitOf = (...quotas: readonly string[]) => parseLimit([PACE, ...quotas].join(', '))

/** A bucket of which `cost` has started at noon. */
function startedUnder(quotas: readonly string[], cost = 3) {
  const bucket = createBucket(limitOf(...quotas))
  const start = (at: number, job: usages.Counted) => {
    changeCounted(bucket, bucket.limit, at)
    const counted = bucket.counted ?? bucket.limit
    if (bucket.usage === undefined) return
    usages.tidy(counted, bucket.usage, at)
    usages.charge(counted, bucket.usage, usages.chargesOf(counted, job), at)
  }
  start(NOON, { cost })
  return {
    bucket,
    start,
    change: (at: number, ...after: readonly string[]) => changeLimit(bucket, limitOf(...after), at),
    used: (at: number) => bucket.limit.quotas.map((quota, index) => usedAt(quota, bucket.usage![index]!, at)),
    remembered: () =>
      (bucket.counted?.quotas.slice(bucket.limit.quotas.length) ?? []).map((quota) => ({
        quota: formatQuota(quota).replace(/^Infinity */, ''),
        until: quota.until! - NOON,
      })),
  }
}

describe('a quota that its limit has no more', () => {
  test.each([[['9/second']], [[]], [['9 tokens/day 1 each']]])(
    'counts on under %j, and counts all of its window when it comes back',
    (between) => {
      const { bucket, change, used, start, remembered } = startedUnder(['9/day'])
      change(NOON + HOUR, ...between)
      expect(remembered()).toEqual([{ quota: '/day', until: HOUR + DAY }])
      start(NOON + 2 * HOUR, { cost: 2 })
      change(NOON + 3 * HOUR, '9/day')
      expect(used(NOON + 3 * HOUR)).toEqual([5])
      expect(bucket.counted === undefined || between.length > 0).toBe(true)
    },
  )

  test('is over when its window is, and when nothing counts in it', () => {
    const late = startedUnder(['9/hour'])
    late.change(NOON + 59 * MINUTE)
    late.start(NOON + 60 * MINUTE, { cost: 1 })
    late.change(NOON + 119 * MINUTE, '9/hour')
    expect(late.used(NOON + 119 * MINUTE)).toEqual([0])
    expect(late.bucket.counted).toBeUndefined()

    const empty = startedUnder(['9/hour'])
    empty.change(NOON + 59 * MINUTE)
    // What had started counts until a sixtieth after its hour.
    empty.start(NOON + 61 * MINUTE, { cost: 1 })
    expect(empty.bucket).toMatchObject({ counted: undefined, usage: undefined })
    const unused = startedUnder(['9/hour'], 0)
    unused.change(NOON)
    expect(unused.bucket).toMatchObject({ usage: undefined })
    expect(unused.bucket.counted).toBeUndefined()
  })

  test('keeps its bucket until then and no longer', () => {
    const { bucket, change, start } = startedUnder(['9/hour'])
    change(NOON + 10 * MINUTE)
    expect(forgettableAt(bucket)).toBe(NOON + 61 * MINUTE)
    start(NOON + 30 * MINUTE, { cost: 1 })
    expect(forgettableAt(bucket)).toBe(NOON + 70 * MINUTE)
    expect(isIdle(bucket, NOON + 70 * MINUTE)).toBe(true)
    const { counted, usage } = bucket
    expect(hasOver(counted!, usage!, NOON + 70 * MINUTE - 1)).toBe(false)
    expect(hasOver(counted!, usage!, NOON + 70 * MINUTE)).toBe(true)
  })

  test('of a calendar is over with its period', () => {
    const { change, used, remembered } = startedUnder(['9 per day in UTC'])
    change(NOON + HOUR, '9/second')
    expect(remembered()).toEqual([{ quota: 'per day in UTC', until: 12 * HOUR + BOUNDARY }])
    change(NOON + 2 * HOUR, '9 per day in UTC', '9/second')
    expect(used(NOON + 2 * HOUR)).toEqual([3, 0])
    change(NOON + 3 * HOUR)
    change(NOON + 13 * HOUR, '9 per day in UTC')
    expect(used(NOON + 13 * HOUR)).toEqual([0])
  })

  test('is not remembered where a longer window of its unit knows it, in force or not', () => {
    const { change, used, remembered } = startedUnder(['9/hour', '9/minute', '9 per day in UTC'])
    change(NOON + MINUTE, '9/day')
    expect(remembered()).toEqual([{ quota: 'per day in UTC', until: 12 * HOUR + BOUNDARY }])
    change(NOON + 2 * MINUTE)
    expect(remembered().map(({ quota }) => quota)).toEqual(['/day', 'per day in UTC'])
    change(NOON + 3 * MINUTE, '9 per 2 hours')
    expect(used(NOON + 3 * MINUTE)).toEqual([3])
    change(NOON + HOUR, '9/second')
    expect(remembered().map(({ quota }) => quota)).toEqual(['/day', 'per day in UTC'])
  })

  test('is remembered beside a longer one that ends before', () => {
    const { change, start, remembered } = startedUnder(['9/day'])
    change(NOON + HOUR, '9/hour')
    start(NOON + 24 * HOUR, { cost: 1 })
    change(NOON + 24.5 * HOUR)
    expect(remembered()).toEqual([
      { quota: '/hour', until: 25.5 * HOUR },
      { quota: '/day', until: 25 * HOUR },
    ])
  })

  test('counts of a job that does not say what the unit counts now, or counted last', () => {
    const { change, start, used } = startedUnder(['9 tokens/day 2 each'])
    change(NOON + 1, '9 tokens/second 5 each')
    start(NOON + SECOND, { cost: 1 })
    change(NOON + 3 * SECOND)
    start(NOON + 4 * SECOND, { cost: 1 })
    start(NOON + 5 * SECOND, { cost: 1, costs: { tokens: 100 } })
    change(NOON + 6 * SECOND, '9 tokens/day 1 each')
    expect(used(NOON + 6 * SECOND)).toEqual([2 + 5 + 5 + 100])
  })
})

test('a new window goes on from the shortest one that looks back as far, or else from the one that looks back farthest', () => {
  const { change, start, used } = startedUnder(['9/minute', '9/hour', '9/day'])
  start(NOON + 59 * MINUTE, { cost: 1 })
  change(NOON + 60 * MINUTE, '9 per 30 minutes', '9 per 2 days', '9 per hour in UTC', '9 per day in UTC')
  // Of the day nothing is known but for the last day; of the hour that began, what may have started in the last hours.
  expect(used(NOON + 61 * MINUTE)).toEqual([1, 4, 1, 4])
  const days = startedUnder(['9 per day in UTC', '9 per hour in UTC'])
  days.change(NOON + MINUTE, '9 per hour in Europe/Berlin', '9 per 3 hours')
  expect(days.used(NOON + MINUTE)).toEqual([3, 3])
})

test('of many windows those are remembered that end last', () => {
  const calendars = [
    'UTC',
    'Asia/Tokyo',
    'Asia/Kolkata',
    'Australia/Sydney',
    'America/New_York',
    'Asia/Dubai',
    'Europe/Berlin',
    'America/Denver',
  ]
  const { bucket, change, remembered } = startedUnder(calendars.map((zone) => `9 per day in ${zone}`))
  change(NOON)
  expect(remembered()).toHaveLength(MOST_REMEMBERED)
  const first = Math.min(...remembered().map(({ until }) => until))
  change(NOON + 1, '9 per 7 days')
  usages.charge(bucket.counted!, bucket.usage!, usages.chargesOf(bucket.counted!, { cost: 1 }), NOON + 2)
  change(NOON + 3)
  expect(remembered()).toHaveLength(MOST_REMEMBERED)
  expect(remembered().map(({ until }) => until)).not.toContain(first)
})

test('a limit that remembers nothing counts by its own quotas', () => {
  const limit = limitOf('9/day')
  expect(countedUnder(limit, limit, usages.createUsage(limit), NOON)).toBe(limit)
})
