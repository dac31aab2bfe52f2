import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import {
  type Bucket,
  changeLimit,
  createBucket,
  depart,
  forgettableAt,
  freeze,
  isIdle,
  nextSlot,
  projectionOf,
  reserve,
  reserveDue,
  spacingAfterStart,
  unreserve,
} from '../../../src/core/bucket.ts'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import type { WaitingJob } from '../../../src/core/projection.ts'
import { admit, judge } from '../../../src/core/verdict.ts'

const MS = 1_000
const SECOND = 1_000_000
const EPOCH = 1_800_000_000_000_000
const FOREVER = Number.POSITIVE_INFINITY
const LIMITS = [
  '50, 10/s, warm-up 3s',
  '50, 3/s, warm-up 5s from 1/s',
  '50, 70/s, warm-up 900ms',
  '50, 200/s, warm-up 2s from 10/s',
  '50, 2/s, warm-up 1s',
]
const limits = fc.constantFrom(...LIMITS).map(parseLimit)
const cost = fc.integer({ min: 1, max: 5 })

const startAt = (bucket: Bucket, units: number, now: number): number => {
  const slot = reserve(bucket, units, now)
  depart(bucket, units, slot)
  return slot
}
/** The starts of so many jobs of cost 1 that wait from `now` on. */
const run = (bucket: Bucket, jobs: number, now: number) =>
  Array.from({ length: jobs }, () => startAt(bucket, 1, now))
const gapsOf = (starts: readonly number[]) => starts.slice(1).map((at, index) => at - starts[index]!)
/** Doubles of our days step by a quarter of a microsecond. */
const ROUNDING = 0.5

test('a bucket at 10/s that warms up in three seconds', () => {
  const bucket = createBucket(parseLimit('50, 10/s, warm-up 3s'))
  const gaps = gapsOf(run(bucket, 40, 0)).map((gap) => gap / MS)
  expect(gaps.slice(0, 4)).toEqual([300, 280, expect.closeTo(261.333, 3), expect.closeTo(243.911, 3)])
  expect(gaps.slice(0, 16).reduce((sum, gap) => sum + gap, 0)).toBeCloseTo(3_008, 0)
  expect(Math.min(...gaps.slice(0, 16))).toBeGreaterThan(100.1)
  for (const gap of gaps.slice(16)) expect(gap).toBeCloseTo(100, 6)
})

test('time without departures cools it by as much', () => {
  const bucket = createBucket(parseLimit('50, 10/s, warm-up 3s'))
  run(bucket, 40, 0)
  expect(bucket.warmth).toBe(3 * SECOND)
  startAt(bucket, 1, bucket.next + SECOND)
  expect(bucket.lastWarmth).toBe(2 * SECOND)
  expect(spacingAfterStart(bucket)).toBeCloseTo(100 * MS + (200 * MS) / 3, 6)
  startAt(bucket, 1, bucket.next + 10 * SECOND)
  expect(spacingAfterStart(bucket)).toBe(300 * MS)
})

test('after a freeze it is cold, however short the freeze was', () => {
  const bucket = createBucket(parseLimit('50, 10/s, warm-up 3s'))
  const last = run(bucket, 40, 0).at(-1)!
  freeze(bucket, last + 1)
  expect(gapsOf(run(bucket, 2, last + 2))).toEqual([300 * MS])
  expect(bucket.next - last).toBe(100 * MS + 300 * MS + 280 * MS)
})

test('starts conform to GCRA with the normal interval through warm-ups, cooling, freezes and changes', () => {
  const step = fc.record({
    idle: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 8 * SECOND })),
    late: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 6 * MS }), fc.integer({ min: 0, max: SECOND })),
    cost,
    freezeFor: fc.option(fc.integer({ min: 1, max: 500 * MS }), { freq: 8 }),
    limit: fc.option(fc.oneof(limits, fc.constantFrom('9, 10/s', '9, 70/s').map(parseLimit)), { freq: 4 }),
  })
  const property = fc.property(limits, fc.array(step, { maxLength: 60 }), (first, steps) => {
    const bucket = createBucket(first)
    const history: HistoryEvent[] = [{ type: 'limit', at: EPOCH, key: 'a', limit: first }]
    let now = EPOCH
    for (const { idle, late, cost, freezeFor, limit } of steps) {
      now += idle
      if (freezeFor !== null) {
        freeze(bucket, now + freezeFor)
        history.push({ type: 'freeze', at: now, key: 'a', until: now + freezeFor })
      }
      if (limit !== null) {
        changeLimit(bucket, limit, 0)
        history.push({ type: 'limit', at: now, key: 'a', limit })
      }
      const due = nextSlot(bucket, now)
      now = due + late
      reserveDue(bucket, cost, due, now)
      depart(bucket, cost, now)
      history.push({ type: 'start', at: now, id: 'x', key: 'a', cost, attempt: 1 })
      expect(bucket.warmth).toBeGreaterThanOrEqual(0)
      expect(bucket.warmth).toBeLessThanOrEqual(bucket.limit.warmUp)
    }
    expect(checkHistory(history, { unfinished: true }).filter(({ law }) => law === 'L2')).toEqual([])
  })
  fc.assert(property, { numRuns: 300 })
})

test('the promised departure is kept, with costs and retries that are ready', () => {
  const waiter = fc.record({ cost, readyAt: fc.option(fc.nat(9), { nil: undefined }) })
  const property = fc.property(
    limits,
    fc.nat(40),
    fc.nat(4 * SECOND),
    fc.array(waiter, { maxLength: 20 }),
    (limit, before, idle, waiters) => {
      const bucket = createBucket({ ...limit, capacity: 1_000 })
      run(bucket, before, EPOCH)
      const now = Math.max(EPOCH, bucket.next) + idle
      const tried = waiters.flatMap(({ cost, readyAt }) => (readyAt === undefined ? [] : [{ cost, readyAt }]))
      bucket.waiting = waiters.reduce((sum, { cost }) => sum + cost, 0)
      const all = judge(bucket, { cost: 1, deadline: FOREVER }, now, waiters, {
        size: tried.length,
        units: tried.reduce((sum, { cost }) => sum + cost, 0),
        gaps: 99,
        latest: () => 9,
        [Symbol.iterator]: () => tried[Symbol.iterator](),
      })
      let from = now
      for (const { cost } of waiters) from = startAt(bucket, cost, from)
      const departsAt = all.accepted ? all.departsAt : Number.NaN
      // Each step is rounded to a quarter of a microsecond, here and there.
      expect(Math.abs(nextSlot(bucket, from) - departsAt)).toBeLessThanOrEqual(1 + waiters.length * ROUNDING)
    },
  )
  fc.assert(property, { numRuns: 500 })
})

test('behind a line without retries as well', () => {
  const property = fc.property(limits, fc.array(cost, { maxLength: 20 }), (limit, costs) => {
    const bucket = createBucket({ ...limit, capacity: 1_000 })
    const promised = costs.map((units) => {
      const verdict = admit(bucket, { cost: units, deadline: FOREVER }, 0, [])
      return verdict.accepted ? verdict.departsAt : Number.NaN
    })
    for (const [index, units] of costs.entries()) {
      expect(Math.abs(reserve(bucket, units, 0) - promised[index]!)).toBeLessThanOrEqual(1e-3)
    }
  })
  fc.assert(property)
})

test('a rejected job is accepted exactly at the reported time', () => {
  const lines = fc.array(cost, { minLength: 1, maxLength: 12 })
  const property = fc.property(limits, fc.nat(20), lines, cost, (limit, before, costs, units) => {
    const capacity = Math.max(
      units,
      costs.reduce((sum, cost) => sum + cost, 0),
    )
    const bucket = createBucket({ ...limit, capacity })
    const now = run(bucket, before + 1, EPOCH).at(-1)!
    const line: WaitingJob[] = costs.map((cost) => ({ cost }))
    bucket.waiting = costs.reduce((sum, cost) => sum + cost, 0)
    const request = { cost: units, deadline: FOREVER }
    const verdict = judge(bucket, request, now, line)
    if (verdict.accepted) return
    let at = now
    while (!judge(bucket, request, at, line).accepted) at = startAt(bucket, line.shift()!.cost, at)
    expect(Math.abs(verdict.retryAt - at)).toBeLessThanOrEqual(1 + costs.length * ROUNDING)
  })
  fc.assert(property, { numRuns: 300 })
})

test('if no handler is free, the estimate is the current interval', () => {
  const bucket = createBucket(parseLimit('1, 10/s, warm-up 3s'))
  admit(bucket, { cost: 1, deadline: FOREVER }, 0, [])
  expect(judge(bucket, { cost: 1, deadline: FOREVER }, 0, [{ cost: 1 }])).toMatchObject({ retryAt: 300 * MS })
})

test('a slot that is given back gives back its warmth', () => {
  const property = fc.property(limits, fc.nat(40), cost, fc.nat(4 * SECOND), (limit, before, units, idle) => {
    const bucket = createBucket(limit)
    const twin = createBucket(limit)
    for (const one of [bucket, twin]) run(one, before, EPOCH)
    const now = Math.max(EPOCH, bucket.next) + idle
    expect(unreserve(bucket, reserve(bucket, units, now), units)).toBe(true)
    expect(projectionOf(bucket, now)).toEqual(projectionOf(twin, now))
  })
  fc.assert(property)
})

test('a slot that is given back after a freeze is cold', () => {
  const bucket = createBucket(parseLimit('50, 10/s, warm-up 3s'))
  run(bucket, 40, 0)
  const slot = reserve(bucket, 1, bucket.next)
  freeze(bucket, slot + 1)
  unreserve(bucket, slot, 1)
  expect(projectionOf(bucket, slot)).toEqual({ slot: slot + 1, warmth: 0 })
})

test('a bucket is deleted when it is cold, because it then equals a new one', () => {
  const property = fc.property(limits, fc.integer({ min: 1, max: 60 }), (limit, jobs) => {
    const bucket = createBucket(limit)
    run(bucket, jobs, EPOCH)
    bucket.waiting = 0
    const at = forgettableAt(bucket)
    expect(at).toBe(bucket.next + bucket.warmth)
    expect([isIdle(bucket, at - 1), isIdle(bucket, at)]).toEqual([false, true])
    expect(projectionOf(bucket, at)).toEqual({ slot: at, warmth: expect.closeTo(0, 0) })
  })
  fc.assert(property)
})

test('a new limit spaces from the last start, and keeps the time spent warming up', () => {
  const bucket = createBucket(parseLimit('50, 10/s, warm-up 3s'))
  const last = run(bucket, 40, 0).at(-1)!
  changeLimit(bucket, parseLimit('50, 10/s, warm-up 6s'), 0)
  // Three of six seconds: half way from 300 ms to 100 ms.
  expect(bucket.next - last).toBe(200 * MS)
  changeLimit(bucket, parseLimit('50, 10/s, warm-up 1s'), 0)
  expect([bucket.next - last, bucket.warmth]).toEqual([100 * MS, SECOND])
  changeLimit(bucket, parseLimit('50, 10/s'), 0)
  expect([bucket.next - last, bucket.warmth]).toEqual([100 * MS, 0])
  changeLimit(bucket, parseLimit('50, 10/s, warm-up 1s'), 0)
  expect(bucket.next - last).toBe(300 * MS)
})

test('a change of limit in the middle of a warm-up causes no burst', () => {
  const property = fc.property(
    limits,
    limits,
    fc.nat(40),
    cost,
    (first: Limit, next: Limit, before, units) => {
      const bucket = createBucket(first)
      run(bucket, before, EPOCH)
      const last = startAt(bucket, units, EPOCH)
      changeLimit(bucket, next, 0)
      expect(bucket.next - last).toBeGreaterThanOrEqual(next.interval * units - next.tolerance - ROUNDING)
      expect(bucket.next - last).toBeLessThanOrEqual(next.coldInterval * units + ROUNDING)
      const gaps = gapsOf([...run(bucket, 20, EPOCH)])
      for (const gap of gaps) {
        expect(gap).toBeGreaterThanOrEqual(next.interval - ROUNDING)
        expect(gap).toBeLessThanOrEqual(next.coldInterval + ROUNDING)
      }
    },
  )
  fc.assert(property)
})

test('a million departures after the warm-up do not drift', () => {
  const limit = parseLimit('1, 3000/s, tolerance 1ms, warm-up 1s')
  const bucket = createBucket(limit)
  while (bucket.warmth < limit.warmUp) reserve(bucket, 1, EPOCH)
  const from = bucket.next
  for (let n = 0; n < 1_000_000; n++) reserve(bucket, 1, EPOCH)
  expect(Math.abs(bucket.next - from - limit.interval * 1_000_000)).toBeLessThan(1)
})
