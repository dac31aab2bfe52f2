import { describe, expect, test } from 'vitest'
import { createBucket, freeze, reserve } from '../../../src/core/bucket.ts'
import { MINUTE, SECOND } from '../../../src/core/duration.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import type { Retries } from '../../../src/core/projection.ts'
import { BOUNDARY } from '../../../src/core/quota.ts'
import { changeUsage } from '../../../src/core/remembered.ts'
import {
  type CountedJob,
  charge,
  chargesOf,
  createUsage,
  forgettableAt,
  giveBack,
  holdOf,
  roomAt,
  settle,
  tidy,
} from '../../../src/core/usage.ts'
import { judge } from '../../../src/core/verdict.ts'
import { Walk } from '../../../src/core/walk.ts'

const limit = parseLimit('5, 1/s, 4/minute, 100 tokens/minute 10 each, 300 tokens/hour 10 each')
const NEVER = Number.POSITIVE_INFINITY
const one = { cost: 1, deadline: NEVER }

describe('what a start is charged', () => {
  test('is its cost, what it names, and by default what the rule says', () => {
    expect(chargesOf(limit, { cost: 2 })).toEqual([2, 10, 10])
    expect(chargesOf(limit, { cost: 1, costs: { tokens: 70, other: 5 } })).toEqual([1, 70, 70])
  })

  test('waits until every quota has room, and can be taken back', () => {
    const usage = createUsage(limit)
    const charges = chargesOf(limit, { cost: 1, costs: { tokens: 60 } })
    charge(limit, usage, charges, 0)
    expect(roomAt(limit, usage, charges, 5)).toBe(61 * SECOND)
    expect(roomAt(limit, usage, [1, 40, 40], 5)).toBe(5)
    expect(holdOf(limit, usage, charges, 5)).toEqual({
      index: 1,
      until: 61 * SECOND,
      units: 60,
      needed: 60,
      used: 60,
    })
    expect(holdOf(limit, usage, charges, 61 * SECOND - 0.5)).toMatchObject({ index: 1 })
    expect(holdOf(limit, usage, [1, 40, 40], 5)).toBeUndefined()
    giveBack(limit, usage, charges, 0)
    expect(roomAt(limit, usage, charges, 5)).toBe(5)
    expect(forgettableAt(limit, usage)).toBe(Number.NEGATIVE_INFINITY)
  })

  test('is corrected in the quotas of the unit alone when it is settled', () => {
    const usage = createUsage(limit)
    charge(limit, usage, [1, 60, 60], 0)
    settle(limit, usage, 'tokens', 60, 95, 0)
    expect(usage.map(({ used }) => used)).toEqual([[1], [95], [95]])
    settle(limit, usage, 'tokens', 95, 0, 0)
    expect(usage.map(({ used }) => used)).toEqual([[1], [], []])
    const isFirstToken = (index: number) => index === 1
    settle(limit, usage, 'tokens', 0, 40, 0, isFirstToken)
    settle(limit, usage, 'tokens', 40, 15, 0, isFirstToken)
    expect(usage.map(({ used }) => used)).toEqual([[1], [15], [40]])
    settle(limit, usage, 'tokens', 40, 0, 0)
    tidy(limit, usage, 2 * MINUTE)
    expect(usage.map(({ used }) => used)).toEqual([[], [], []])
  })

  test('a later time may lie in a day that is full', () => {
    const both = parseLimit('5, 1/s, 2 per day in UTC, 1 per 2 hours')
    const usage = createUsage(both)
    const midnight = Date.parse('2026-01-02') * 1_000
    charge(both, usage, [0, 1], midnight - 90 * MINUTE)
    charge(both, usage, [2, 0], midnight + 5 * SECOND)
    expect(roomAt(both, usage, [1, 1], midnight - 60 * MINUTE)).toBe(midnight + 24 * 60 * MINUTE + BOUNDARY)
  })
})

test('a changed limit keeps what the same quotas counted, and new ones of a unit begin with what is known', () => {
  const usage = createUsage(limit)
  charge(limit, usage, [1, 60, 60], 0)
  const after = parseLimit('5, 1/s, 100 tokens/minute 10 each, 900 tokens/day 10 each, 10 gb/hour 1 each')
  const changed = changeUsage(limit, usage, after, SECOND)
  expect(changed.map(({ used }) => used)).toEqual([[60], [60], []])
  expect(changed[0]).not.toBe(usage[1])
  const zoned = (zone: string) => parseLimit(`5, 1/s, 9 per day in ${zone}`)
  const days = createUsage(zoned('UTC'))
  charge(zoned('UTC'), days, [1], Date.parse('2026-01-02T12:00Z') * 1_000)
  const now = Date.parse('2026-01-02T13:00Z') * 1_000
  expect(changeUsage(zoned('UTC'), days, zoned('UTC'), now)).toEqual(days)
  expect(changeUsage(zoned('UTC'), days, zoned('Asia/Kathmandu'), now)).not.toEqual(days)
  expect(changeUsage(zoned('UTC'), days, parseLimit('5, 1/s, 9/hour'), now)[0]!.used).toEqual([1])
  expect(
    changeUsage(parseLimit('5, 1/s, 9/hour'), createUsage(parseLimit('5, 1/s, 9/hour')), zoned('UTC'), now),
  ).toEqual(createUsage(zoned('UTC')))
})

describe('a verdict under a limit of several parts', () => {
  const bucketOf = (text: string, waiting = 0) => {
    const bucket = createBucket(parseLimit(text))
    bucket.waiting = waiting
    return bucket
  }
  const line = (length: number, job: CountedJob = { cost: 1 }) => Array.from({ length }, () => job)

  test('promises the slot that pace and quotas allow behind the jobs that wait', () => {
    const bucket = bucketOf('9, 1/s, 3/minute', 2)
    reserve(bucket, 1, 0)
    charge(bucket.limit, bucket.usage!, [1], 0)
    expect(judge(bucket, one, 0, line(2))).toEqual({
      accepted: true,
      departsAt: 61 * SECOND,
      retriesAhead: 0,
    })
    expect(judge(bucket, one, 0, line(1))).toMatchObject({ departsAt: 3 * SECOND, isEstimate: true })
  })

  test('is an estimate where a retry waits, which counts once it is ready, or where a quota may hold it', () => {
    const jobs = [{ cost: 1 }, { cost: 1, readyAt: 30 * SECOND }]
    const retries: Retries = {
      size: 1,
      units: 1,
      gaps: 2,
      latest: () => 30 * SECOND,
      [Symbol.iterator]: () => [{ cost: 1, readyAt: 30 * SECOND }].values(),
    }
    const estimate = { accepted: true, isEstimate: true }
    const free = bucketOf('9, 1/s, 9/minute', 2)
    expect(judge(free, one, 0, jobs, retries)).toEqual({ ...estimate, departsAt: SECOND, retriesAhead: 0 })
    const held = bucketOf('9, 1/s, 2/minute', 2)
    expect(judge(held, one, 0, jobs, retries)).toEqual({
      ...estimate,
      departsAt: 61 * SECOND,
      retriesAhead: 1,
    })
  })

  test('is exact behind any number of jobs that no quota can hold', () => {
    const bucket = bucketOf('2000, 1/s, 2000/hour', 1_000)
    expect(judge(bucket, one, 0, line(1_000))).toEqual({
      accepted: true,
      departsAt: 1_000 * SECOND,
      retriesAhead: 0,
    })
    const tokens = { ...bucketOf('2000, 1/s, 9000 tokens/hour 5 each', 1_000), jobs: 1_000 }
    const wanted = { ...one, costs: { tokens: 1_000 } }
    expect(judge(tokens, wanted, 0, line(1_000))).not.toHaveProperty('isEstimate', true)
    const named = new Map([['tokens', { jobs: 1, units: 3_000 }]])
    expect(judge({ ...tokens, named }, wanted, 0, line(1_000))).not.toHaveProperty('isEstimate', true)
    named.set('tokens', { jobs: 1, units: 3_006 })
    expect(judge({ ...tokens, named }, wanted, 0, line(1_000))).toHaveProperty('isEstimate', true)
  })

  test('of a full line names the time at which enough has departed', () => {
    const bucket = bucketOf('3, 1/s, 2/minute', 3)
    const full = { accepted: false, reason: 'full' }
    expect(judge(bucket, one, 0, line(3))).toEqual({ ...full, retryAt: SECOND })
    expect(judge(bucket, { cost: 3, deadline: NEVER }, 0, [])).toMatchObject({ reason: 'too-costly' })
    const free = bucketOf('3, 1/s, 9/minute', 3)
    expect(judge(free, { cost: 3, deadline: NEVER }, 0, line(3))).toEqual({ ...full, retryAt: 2 * SECOND })
    freeze(bucket, 10 * SECOND)
    expect(judge(bucket, one, 0, line(3))).toEqual({ ...full, retryAt: 10 * SECOND })
  })

  test('refuses what is certainly late, and what exceeds a quota', () => {
    const bucket = bucketOf('9, 1/s, 2/minute', 2)
    const by = (deadline: number) => judge(bucket, { cost: 1, deadline }, 0, line(2))
    expect(by(60 * SECOND)).toEqual({ accepted: false, reason: 'deadline', retryAt: SECOND })
    expect(by(61 * SECOND)).toMatchObject({ accepted: true, departsAt: 61 * SECOND })
    expect(judge(bucket, { cost: 3, deadline: NEVER }, 0, line(2))).toEqual({
      accepted: false,
      reason: 'too-costly',
      retryAt: NEVER,
      exceeded: bucket.limit.quotas[0],
    })
  })

  test('of a long line is an estimate that is never too late', () => {
    const quotas = bucketOf('2000, 1/s, 100/hour', 1_000)
    const verdict = judge(quotas, one, 0, line(1_000))
    // 200 jobs are followed: 100 at once, and 100 an hour later. Of the 800 behind them the last go seven hours after that.
    expect(verdict).toMatchObject({ accepted: true, isEstimate: true })
    const exact = 10 * 3_660 * SECOND
    expect(verdict.accepted && verdict.departsAt <= exact && verdict.departsAt > 7 * 3_600 * SECOND).toBe(
      true,
    )
    const full = bucketOf('1000, 1/s, 100 per day in UTC', 1_000)
    expect(judge(full, { cost: 100, deadline: NEVER }, 0, line(1_000))).toMatchObject({ reason: 'full' })
    const many = bucketOf('1000, 1/s, 900 tokens/hour 1 each', 1_000)
    expect(judge(many, { cost: 300, deadline: NEVER }, 0, line(1_000))).toMatchObject({
      reason: 'full',
      retryAt: 299 * SECOND,
      isEstimate: true,
    })
  })

  test('of jobs above a quota that was lowered is not too late', () => {
    const bucket = bucketOf('2000, 1/s, 2/minute', 1_000)
    const verdict = judge(bucket, one, 0, line(250, { cost: 4 }))
    // They depart alone, one in each window; of those beyond the first 200 only the pace is certain.
    expect(verdict).toMatchObject({ departsAt: (199 * 61 + 4 + 200) * SECOND, isEstimate: true })
  })

  test('is an estimate where only so many may run at once', () => {
    expect(judge(bucketOf('9, 1/s, 5 at once'), one, 0, [])).toEqual({
      accepted: true,
      departsAt: 0,
      retriesAhead: 0,
      isEstimate: true,
    })
  })

  test('of a paused bucket promises no deadline', () => {
    const bucket = bucketOf('1, 1/s, 2/minute', 1)
    bucket.paused = true
    expect(judge(bucket, one, 0, line(1))).toMatchObject({ reason: 'paused' })
    bucket.waiting = 0
    expect(judge(bucket, { cost: 1, deadline: 9 * SECOND }, 0, [])).toMatchObject({
      reason: 'paused',
      retryAt: SECOND,
    })
  })
})

test('a walk says for which quota its next job waits, which may be one of two', () => {
  const both = parseLimit('9, 1/s, 2 per 10 seconds, 3/minute, tolerance 0')
  const walk = new Walk(both, { slot: 0, warmth: 0 }, createUsage(both))
  const holds = [{ cost: 1 }, { cost: 1 }, { cost: 1, readyAt: 4 * SECOND }, { cost: 1 }].map((job) => {
    const hold = walk.holdOf(job)
    expect(walk.depart(job)).toBeGreaterThanOrEqual(hold?.until ?? 0)
    return hold
  })
  expect(holds.slice(0, 2)).toEqual([undefined, undefined])
  // The two before it started in different sixtieths of the ten seconds.
  expect(holds[2]).toEqual({
    index: 0,
    units: 1,
    needed: 1,
    used: 2,
    until: Math.ceil((10 * SECOND) / 60) + 10 * SECOND,
  })
  expect(holds[3]).toMatchObject({ index: 1, until: 61 * SECOND })
})

test('a walk counts a start before one that was counted later, as after a clock that was set back', () => {
  const limit = parseLimit('9, 1/s, 2/minute, tolerance 0')
  const usage = createUsage(limit)
  charge(limit, usage, [1], 30 * SECOND)
  const walk = new Walk(limit, { slot: 0, warmth: 0 }, usage)
  const times = [1, 2, 3].map(() => walk.depart({ cost: 1 }))
  // The third waits for the first of the walk, not for the one that is later.
  expect(times).toEqual([0, 61 * SECOND, 91 * SECOND])
})

test('where it is not known how many jobs wait, those that name nothing are followed', () => {
  const bucket = createBucket(parseLimit('2000, 1/s, 9000 tokens/hour 5 each'))
  bucket.waiting = 300
  const line = Array.from({ length: 300 }, () => ({ cost: 1 }))
  expect(judge(bucket, one, 0, line)).toMatchObject({ departsAt: 300 * SECOND, isEstimate: true })
  expect(judge({ ...bucket, jobs: 300 }, one, 0, line)).toEqual({
    accepted: true,
    departsAt: 300 * SECOND,
    retriesAhead: 0,
  })
})
