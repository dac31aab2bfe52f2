import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import { cooledBy, spacing, warmedBy } from '../../../src/core/warmth.ts'

const SECOND = 1_000_000

const limits: fc.Arbitrary<Limit> = fc
  .record({
    rate: fc.constantFrom('1/s', '3/s', '10/s', '70/s', '7 per minute', '200/s'),
    warmUpMs: fc.integer({ min: 1, max: 120_000 }),
    factor: fc.double({ min: 1.001, max: 50, noNaN: true }),
  })
  .map(({ rate, warmUpMs, factor }) => {
    const limit = parseLimit({ capacity: 1_000, rate, warmUp: `${warmUpMs}ms` })
    return { ...limit, coldInterval: limit.interval * factor }
  })
/** A part of the warm-up. */
const part = fc.double({ min: 0, max: 1, noNaN: true })

/** One cost unit after the other, as the law says it. */
function stepByStep({ interval, coldInterval, warmUp }: Limit, from: number, units: number): number {
  let warmth = from
  let total = 0
  for (let unit = 0; unit < units; unit++) {
    const step = coldInterval - ((coldInterval - interval) * warmth) / warmUp
    total += step
    warmth = Math.min(warmUp, warmth + step)
  }
  return total
}

test('many units together take as long as one after the other', () => {
  const units = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 5_000 }))
  const property = fc.property(limits, part, units, (limit, part, units) => {
    const from = limit.warmUp * part
    const expected = stepByStep(limit, from, units)
    expect(Math.abs(spacing(limit, from, units) - expected)).toBeLessThanOrEqual(1e-3 + expected * 1e-9)
  })
  fc.assert(property, { numRuns: 2_000 })
})

test('a job of a high cost takes as long as that many jobs of cost 1, wherever the line is split', () => {
  const units = fc.integer({ min: 0, max: 1_000 })
  const property = fc.property(limits, part, units, units, (limit, part, one, other) => {
    const from = limit.warmUp * part
    const first = spacing(limit, from, one)
    const then = spacing(limit, warmedBy(limit, from, first), other)
    const whole = spacing(limit, from, one + other)
    expect(Math.abs(first + then - whole)).toBeLessThanOrEqual(1e-3 + whole * 1e-9)
  })
  fc.assert(property, { numRuns: 500 })
})

test('gaps begin with the cold interval, never grow, and are never shorter than the interval', () => {
  const property = fc.property(limits, (limit) => {
    expect(spacing(limit, 0, 1)).toBe(limit.coldInterval)
    let warmth = 0
    let before = Number.POSITIVE_INFINITY
    for (let unit = 0; unit < 2_000; unit++) {
      const gap = spacing(limit, warmth, 1)
      expect(gap).toBeLessThanOrEqual(before)
      // At the very end of the warm-up the two differ by no more than a rounding.
      expect(gap).toBeGreaterThanOrEqual(limit.interval * (1 - 1e-9))
      before = gap
      warmth = warmedBy(limit, warmth, gap)
    }
  })
  fc.assert(property, { numRuns: 100 })
})

test('it is warm after the warm-up, and then the interval is exactly the normal one', () => {
  const property = fc.property(limits, fc.nat(1_000), (limit, more) => {
    let spent = 0
    while (spent < limit.warmUp) spent += spacing(limit, spent, 1)
    const warmth = warmedBy(limit, 0, spent)
    expect(warmth).toBe(limit.warmUp)
    expect(spacing(limit, warmth, more)).toBe(limit.interval * more)
  })
  fc.assert(property, { numRuns: 100 })
})

test('the longest line with the longest warm-up is computed quickly, without rounding errors', () => {
  const limit = parseLimit('1_000_000_000, 1_000_000/s, tolerance 1ms, warm-up 366d')
  const units = 1e9
  // So early in the warm-up every interval is the cold one, less what a straight line takes off.
  const slope = (limit.coldInterval - limit.interval) / limit.warmUp
  const expected = (limit.coldInterval * -Math.expm1(units * Math.log1p(-slope))) / slope
  expect(spacing(limit, 0, units) / expected).toBeCloseTo(1, 12)
})

test('a warm-up that is shorter than a cold interval takes one step', () => {
  const limit = parseLimit('9, 1/s, warm-up 1s')
  expect([0, 1, 2, 3].map((units) => spacing(limit, 0, units) / SECOND)).toEqual([0, 3, 4, 5])
  expect(spacing(limit, SECOND / 2, 1) / SECOND).toBe(2)
})

test('without a warm-up it is the interval times the units', () => {
  const limit = parseLimit('9, 3/s')
  expect(spacing(limit, 0, 7)).toBe(limit.interval * 7)
})

test('it cools as fast as it warms, and not below cold', () => {
  const limit = parseLimit('9, 1/s, warm-up 30s')
  const warmth = warmedBy(limit, 20 * SECOND, 5 * SECOND)
  expect(warmth).toBe(25 * SECOND)
  expect(cooledBy(warmth, 5 * SECOND)).toBe(20 * SECOND)
  expect(cooledBy(warmth, 26 * SECOND)).toBe(0)
  expect(cooledBy(0, Number.POSITIVE_INFINITY)).toBe(0)
})
