import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MILLISECOND, MINUTE, SECOND } from '../../../src/core/duration.ts'
import { parseCountedLimit } from '../../../src/core/limit.ts'
import { EMPTY, forgottenAt } from '../../../src/core/meter.ts'
import {
  allFit,
  countsAt,
  fillQuotas,
  type QuotaMeterFill,
  type QuotaMeterState,
  quotasForgottenAt,
  refusalOf,
} from '../../../src/core/meter-quotas.ts'
import { BOUNDARY } from '../../../src/core/quota.ts'
import { nameOfQuota } from '../../../src/core/quota-input.ts'
import { chargesOf } from '../../../src/core/usage.ts'

/** At a whole minute, hour and day of UTC. */
const T0 = Date.UTC(2026, 0, 5) * MILLISECOND

/** A bucket under a limit; what it names not counts as the limit says. */
class Bucket {
  state: QuotaMeterState = EMPTY
  readonly #more: Partial<QuotaMeterFill>

  constructor(more: Partial<QuotaMeterFill> = {}) {
    this.#more = more
  }

  request(limit: string, amount: number, costs?: Record<string, number>): QuotaMeterFill {
    const { capacity, interval, quotas } = parseCountedLimit(limit)
    const charges = chargesOf({ quotas }, { cost: amount, costs })
    return { amount, capacity, interval, clamp: false, block: 0, quotas, charges, ...this.#more }
  }

  /** True, or why not and when. */
  fill(limit: string, now: number, amount = 1, costs?: Record<string, number>) {
    const request = this.request(limit, amount, costs)
    const fitted = allFit(this.state, request, now)
    const { accepted, state } = fillQuotas(this.state, request, now)
    expect(accepted).toBe(fitted)
    this.state = state
    if (accepted) return true
    const { retryAfterMs, quota } = refusalOf(state, request, now)
    return { retryAfterMs, quota: quota && nameOfQuota(quota) }
  }

  used(limit: string, now: number): number[] {
    return countsAt(this.state, parseCountedLimit(limit), now).map(({ used }) => used)
  }
}

describe('a fill under a limit with quotas', () => {
  const LIMIT = '10, 10/s, 5/minute, 100 tokens/minute 20 each'

  test('is charged to the bucket and to every quota, or to none', () => {
    const bucket = new Bucket()
    expect(bucket.fill(LIMIT, T0)).toBe(true)
    expect(bucket.fill(LIMIT, T0, 2, { tokens: 70 })).toBe(true)
    expect(bucket.used(LIMIT, T0)).toEqual([3, 90])
    const before = bucket.state
    expect(bucket.fill(LIMIT, T0, 1, { tokens: 11 })).toEqual({
      retryAfterMs: 61_000,
      quota: '100 tokens/minute',
    })
    expect(bucket.state).toEqual(before)
    expect(bucket.fill(LIMIT, T0, 3, { tokens: 1 })).toEqual({ retryAfterMs: 61_000, quota: '5/minute' })
    expect(bucket.state).toEqual(before)
    expect(bucket.fill(LIMIT, T0, 2, { tokens: 10 })).toBe(true)
    expect(bucket.state.level).toBe(5)
  })

  test('goes in at the reported time, and not a sub-window before', () => {
    const bucket = new Bucket()
    for (let n = 0; n < 5; n++) expect(bucket.fill(LIMIT, T0 + n * SECOND, 1, { tokens: 1 })).toBe(true)
    const now = T0 + 10.4 * SECOND
    expect(bucket.fill(LIMIT, now, 1, { tokens: 1 })).toEqual({ retryAfterMs: 50_600, quota: '5/minute' })
    expect(bucket.fill(LIMIT, now + 50_599 * MILLISECOND)).toMatchObject({ quota: '5/minute' })
    expect(bucket.fill(LIMIT, now + 50_600 * MILLISECOND)).toBe(true)
  })

  test('waits for the bucket where that has room last', () => {
    const bucket = new Bucket()
    const limit = '2, 1/h, 4/second'
    expect(bucket.fill(limit, T0, 2)).toBe(true)
    expect(bucket.fill(limit, T0, 2)).toEqual({ retryAfterMs: 7_200_000, quota: undefined })
    expect(bucket.fill(limit, T0 + 2 * SECOND, 1)).toEqual({ retryAfterMs: 3_598_000, quota: undefined })
  })

  test('of several quotas the one that has room last is named', () => {
    const bucket = new Bucket()
    const limit = '10, 10/s, 2/minute, 3/h, 5/second'
    expect(bucket.fill(limit, T0, 2)).toBe(true)
    expect(bucket.fill(limit, T0, 2)).toEqual({ retryAfterMs: 3_660_000, quota: '3/hour' })
    expect(bucket.fill(limit, T0, 1)).toEqual({ retryAfterMs: 61_000, quota: '2/minute' })
  })

  test('above the bucket, or above a whole quota, never goes in, and says which', () => {
    const bucket = new Bucket()
    expect(bucket.fill(LIMIT, T0, 6)).toEqual({ retryAfterMs: Number.POSITIVE_INFINITY, quota: '5/minute' })
    expect(bucket.fill(LIMIT, T0, 1, { tokens: 101 })).toEqual({
      retryAfterMs: Number.POSITIVE_INFINITY,
      quota: '100 tokens/minute',
    })
    expect(bucket.fill(LIMIT, T0, 11)).toEqual({ retryAfterMs: Number.POSITIVE_INFINITY, quota: undefined })
    expect(bucket.state).toBe(EMPTY)
  })

  test('of nothing is charged to nothing', () => {
    const bucket = new Bucket()
    const { quotas, ...request } = bucket.request(LIMIT, 0)
    const { accepted, state } = fillQuotas(EMPTY, { ...request, quotas, charges: [0, 0] }, T0)
    expect({ accepted, state }).toEqual({ accepted: true, state: EMPTY })
    const named = fillQuotas(EMPTY, { ...request, quotas, charges: [0, 7] }, T0)
    expect(named).toMatchObject({ accepted: true, state: { level: 0, interval: 0 } })
    expect(countsAt(named.state, { quotas }, T0).map(({ used }) => used)).toEqual([0, 7])
    expect(allFit(named.state, { ...request, quotas, charges: [0, 94] }, T0)).toBe(false)
  })

  test('that a quota refuses blocks the key, but fills only a bucket that has no room to the brim', () => {
    const blocking = new Bucket({ block: MINUTE })
    for (let n = 0; n < 5; n++) blocking.fill(LIMIT, T0)
    expect(blocking.fill(LIMIT, T0)).toEqual({ retryAfterMs: 61_000, quota: '5/minute' })
    expect(blocking.state).toMatchObject({ blockedUntil: T0 + MINUTE, level: 5 })
    expect(blocking.fill(LIMIT, T0 + SECOND, 1, { tokens: 1 })).toMatchObject({ quota: '5/minute' })

    const clamping = new Bucket({ clamp: true })
    expect(clamping.fill('10, 10/s, 3/minute', T0, 3)).toBe(true)
    clamping.fill('10, 10/s, 3/minute', T0)
    expect(clamping.state).toMatchObject({ level: 3 })
    clamping.fill('10, 10/s, 3/minute', T0, 8)
    expect(clamping.state).toMatchObject({ level: 10 })
    expect(clamping.used('10, 10/s, 3/minute', T0)).toEqual([3])
  })
})

describe('quotas of a calendar', () => {
  const DAILY = '10, 10/s, 3 per day in America/New_York'
  const MIDNIGHT = T0 + 5 * HOUR

  test('begin anew with the day of their zone', () => {
    const bucket = new Bucket()
    for (let n = 0; n < 3; n++) expect(bucket.fill(DAILY, MIDNIGHT - HOUR)).toBe(true)
    expect(bucket.fill(DAILY, MIDNIGHT - HOUR)).toEqual({
      retryAfterMs: 3_601_001,
      quota: '3 per day in America/New_York',
    })
    expect(bucket.fill(DAILY, MIDNIGHT + BOUNDARY)).toBe(true)
    expect(quotasForgottenAt(bucket.state)).toBe(MIDNIGHT + DAY + BOUNDARY)
  })

  test('count a fill within a second of midnight in both days', () => {
    const bucket = new Bucket()
    for (let n = 0; n < 3; n++) expect(bucket.fill(DAILY, MIDNIGHT - SECOND / 2)).toBe(true)
    expect(bucket.fill(DAILY, MIDNIGHT + BOUNDARY)).toMatchObject({ retryAfterMs: 86_400_000 })
  })
})

describe('a limit that changes', () => {
  test('goes on with what its quotas counted', () => {
    const bucket = new Bucket()
    expect(bucket.fill('10, 10/s, 5/minute', T0, 4)).toBe(true)
    expect(bucket.fill('10, 10/s, 5/h, 6/minute', T0 + SECOND, 2)).toMatchObject({ quota: '5/hour' })
    expect(bucket.used('10, 10/s, 5/h, 6/minute, 9 tokens/second 1 each', T0 + SECOND)).toEqual([4, 4, 0])
    expect(bucket.fill('10, 10/s', T0 + SECOND)).toBe(true)
    expect(bucket.state.counted).toBeUndefined()
  })
})

test('what counts is kept as long as it counts, also when the bucket is empty', () => {
  const bucket = new Bucket()
  bucket.fill('10, 10/s, 2/h', T0, 2)
  expect(forgottenAt(bucket.state)).toBe(T0 + 200 * MILLISECOND + 1)
  expect(quotasForgottenAt(bucket.state)).toBe(T0 + HOUR + MINUTE)
  expect(quotasForgottenAt(EMPTY)).toBe(1)
  expect(bucket.fill('10, 10/s, 2/h', T0 + HOUR)).toMatchObject({ quota: '2/hour', retryAfterMs: 60_000 })
  expect(bucket.state).toMatchObject({ level: 0, counted: { uses: [{ used: [2] }] } })
  expect(bucket.fill('10, 10/s, 2/h', T0 + 2 * HOUR, 0)).toBe(true)
  expect(bucket.state).toBe(EMPTY)
})

/** What others fell into: each time a limit was exceeded, or refused everything. */
describe('traps', () => {
  test('an estimate of none is no free pass: a fill that names no tokens counts what the limit says', () => {
    const bucket = new Bucket()
    const limit = '100, 100/s, 100 tokens/minute 30 each'
    const passed = Array.from({ length: 10 }, () => bucket.fill(limit, T0)).filter(
      (verdict) => verdict === true,
    )
    expect(passed).toHaveLength(3)
  })

  test('two quotas share no window: each enforces the whole of its own', () => {
    const bucket = new Bucket()
    const limit = '100, 100/s, 10 requests/minute 1 each, 1000 tokens/minute 100 each'
    // Requests come early in the minute, tokens late.
    for (let n = 0; n < 9; n++) expect(bucket.fill(limit, T0, 1, { tokens: 1 })).toBe(true)
    expect(bucket.fill(limit, T0 + 50 * SECOND, 1, { tokens: 991 })).toBe(true)
    const later = T0 + 61 * SECOND
    expect(bucket.used(limit, later)).toEqual([1, 991])
    expect(bucket.fill(limit, later, 1, { tokens: 10 })).toMatchObject({ quota: '1000 tokens/minute' })
    expect(bucket.fill(limit, later, 1, { tokens: 9 })).toBe(true)
  })

  test('a call larger than the bucket neither hangs nor slips through', () => {
    const bucket = new Bucket()
    const limit = '100, 100/s, 100 tokens/minute 1 each'
    for (const at of [T0, T0 + DAY]) {
      expect(bucket.fill(limit, at, 1, { tokens: 101 })).toEqual({
        retryAfterMs: Number.POSITIVE_INFINITY,
        quota: '100 tokens/minute',
      })
    }
    expect(bucket.fill(limit, T0 + DAY, 1, { tokens: 100 })).toBe(true)
  })

  test('refused calls are charged nothing, in any part', () => {
    const bucket = new Bucket()
    const limit = '100, 100/s, 10/minute, 100 tokens/minute 1 each'
    for (let n = 0; n < 50; n++) bucket.fill(limit, T0, 1, { tokens: 60 })
    expect(bucket.used(limit, T0)).toEqual([1, 60])
    expect(bucket.state.level).toBe(1)
  })

  test('calls that come together use no more than the quota, whatever each of them has seen', () => {
    const bucket = new Bucket()
    const limit = '100, 100/s, 100 tokens/minute 1 each'
    const passed = [90, 90, 90, 8, 2].map((tokens) => bucket.fill(limit, T0, 1, { tokens }) === true)
    expect(passed).toEqual([true, false, false, true, true])
  })
})
