import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import {
  type Bucket,
  changeLimit,
  createBucket,
  depart,
  freeze,
  nextSlot,
  reserve,
  reserveDue,
} from '../../../src/core/bucket.ts'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import type { WaitingJob } from '../../../src/core/projection.ts'
import { judge } from '../../../src/core/verdict.ts'

const EPOCH = 1_800_000_000_000_000
/** Doubles step by a quarter of a microsecond there; walking and reserving may differ by two steps. */
const ROUNDING = 0.5
const RATES = ['1/s', '3/s', '10/s', '70/s', '200/s', '7 per minute']
const limits = fc
  .tuple(fc.constantFrom(...RATES), fc.constantFrom(undefined, 0 as const))
  .map(([rate, tolerance]) => parseLimit({ capacity: 1_000, rate, tolerance }))
const cost = fc.integer({ min: 1, max: 5 })

const spacingBreaches = (history: HistoryEvent[]) =>
  checkHistory(history, { unfinished: true }).filter(({ law }) => law === 'L2')

/** Takes the slot that is due, starts `late` after it, and writes it down. */
function startOne(
  bucket: Bucket,
  units: number,
  now: number,
  late: number,
): HistoryEvent & { type: 'start' } {
  const due = nextSlot(bucket, now)
  const at = due + late
  reserveDue(bucket, units, due, at)
  depart(bucket, units, at)
  return { type: 'start', at, id: 'x', key: 'a', cost: units, attempt: 1 }
}

test('starts conform to GCRA with any waits, lateness, costs, freezes and changes', () => {
  const step = fc.record({
    idle: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_000_000 })),
    late: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 6_000 }),
      fc.integer({ min: 0, max: 1_000_000 }),
    ),
    cost,
    freezeFor: fc.option(fc.integer({ min: 1, max: 500_000 }), { freq: 8 }),
    limit: fc.option(limits, { freq: 4 }),
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
      const start = startOne(bucket, cost, now, late)
      history.push(start)
      now = start.at
    }
    expect(spacingBreaches(history)).toEqual([])
  })
  fc.assert(property, { numRuns: 300 })
})

test.each([10, 0.1])('a limit that becomes %d times as fast under load breaks no spacing', (factor) => {
  const slow: Limit = parseLimit({ capacity: 9, rate: { count: 5, per: '1s' } })
  const next: Limit = parseLimit({ capacity: 9, rate: { count: 5 * factor, per: '1s' } })
  const bucket = createBucket(slow)
  const history: HistoryEvent[] = [{ type: 'limit', at: 0, key: 'a', limit: slow }]
  for (let n = 0; n < 10; n++) history.push(startOne(bucket, 1, 0, 0))
  const changedAt = history.at(-1)!.at + 1
  changeLimit(bucket, next, 0)
  history.push({ type: 'limit', at: changedAt, key: 'a', limit: next })
  for (let n = 0; n < 10; n++) history.push(startOne(bucket, 1, changedAt, 0))
  expect(spacingBreaches(history)).toEqual([])
  expect(history.at(-1)!.at - history.at(-2)!.at).toBeCloseTo(next.interval, 3)
})

test('one job of cost 3 spaces the next start exactly like three of cost 1', () => {
  const property = fc.property(limits, fc.integer({ min: 1, max: 9 }), (limit, units) => {
    const whole = createBucket(limit)
    const parts = createBucket(limit)
    reserve(whole, units, 0)
    for (let unit = 0; unit < units; unit++) reserve(parts, 1, 0)
    expect(nextSlot(whole, 0)).toBeCloseTo(nextSlot(parts, 0), 6)
  })
  fc.assert(property)
  const three = createBucket(parseLimit('9, 2/s'))
  reserve(three, 3, 0)
  expect(nextSlot(three, 0)).toBe(1_500_000)
})

test('a rejected job is accepted exactly at the reported time, and at no earlier departure', () => {
  const waiter = fc.record({
    cost,
    backoff: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000_000 })),
  })
  const lines = fc.array(waiter, { minLength: 1, maxLength: 12 })
  const property = fc.property(
    limits,
    lines,
    cost,
    fc.nat(2_000_000),
    fc.nat(),
    (rate, waiters, units, past, spare) => {
      const total = waiters.reduce((sum, { cost }) => sum + cost, 0)
      const capacity = Math.max(units, total - (spare % units))
      const bucket = createBucket({ ...rate, capacity })
      reserve(bucket, 1, EPOCH)
      const now = EPOCH + past
      const line: WaitingJob[] = waiters.map(({ cost, backoff }) => ({ cost, readyAt: now + backoff }))
      bucket.waiting = total
      const request = { cost: units, deadline: Number.POSITIVE_INFINITY }
      const verdict = judge(bucket, request, now, line)
      if (verdict.accepted) {
        expect(total + units).toBeLessThanOrEqual(capacity)
        return
      }
      let at = now
      while (!judge(bucket, request, at, line).accepted) {
        const head = line.shift()!
        at = reserve(bucket, head.cost, Math.max(at, head.readyAt!))
        depart(bucket, head.cost, at)
      }
      // A head that is due and still waits for a handler leaves only a guess.
      const expected = at > now ? at : now + rate.interval
      expect(Math.abs(verdict.retryAt - expected)).toBeLessThanOrEqual(ROUNDING)
    },
  )
  fc.assert(property, { numRuns: 500 })
})

test('the promised departure is kept', () => {
  const property = fc.property(limits, fc.array(cost, { maxLength: 20 }), (limit, costs) => {
    const bucket = createBucket(limit)
    reserve(bucket, 2, 0)
    const promised = costs.map((units) => {
      const verdict = judge(bucket, { cost: units, deadline: Number.POSITIVE_INFINITY }, 0, [])
      bucket.waiting += units
      return verdict.accepted ? verdict.departsAt : Number.NaN
    })
    for (const [index, units] of costs.entries()) {
      expect(reserve(bucket, units, 0)).toBeCloseTo(promised[index]!, 3)
    }
  })
  fc.assert(property)
})

test('a second freeze never shortens the first', () => {
  const property = fc.property(fc.array(fc.nat(), { minLength: 1 }), (untils) => {
    const bucket = createBucket(parseLimit('1, 1/s'))
    for (const until of untils) freeze(bucket, until)
    expect(bucket.frozenUntil).toBe(Math.max(...untils))
  })
  fc.assert(property)
})

test.each(RATES)('a million departures at %s do not drift', (rate) => {
  const limit = parseLimit({ capacity: 1, rate })
  const bucket = createBucket(limit)
  for (let n = 0; n < 1_000_000; n++) reserve(bucket, 1, EPOCH)
  expect(Math.abs(bucket.next - EPOCH - limit.interval * 1_000_000)).toBeLessThan(1)
})
