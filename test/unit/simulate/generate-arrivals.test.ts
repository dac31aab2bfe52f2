import { describe, expect, it } from 'vitest'
import { generateArrivals, PATTERNS, type Pattern } from '../../../src/simulate/generate-arrivals.ts'

function generate(
  pattern: Pattern,
  options: { seconds?: number; rate?: number; keys?: number; seed?: number } = {},
) {
  return [...generateArrivals({ pattern, seconds: 600, rate: 20, keys: 1, seed: 1, ...options })].flat()
}

describe.each(PATTERNS)('the pattern %s', (pattern) => {
  it('is in the order of time, at whole microseconds, and ends in time', () => {
    const times = generate(pattern).map(({ at }) => at)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.every((at) => Number.isInteger(at) && at >= 0 && at <= 600e6)).toBe(true)
  })

  it('keeps its mean rate', () => {
    expect(generate(pattern).length / (600 * 20)).toBeCloseTo(1, 0)
  })

  it('is the same for the same seed', () => {
    expect(generate(pattern, { keys: 3 })).toEqual(generate(pattern, { keys: 3 }))
  })

  it('uses each of its keys', () => {
    expect(new Set(generate(pattern, { keys: 5 }).map(({ key }) => key)).size).toBe(5)
  })
})

describe('patterns', () => {
  it('differ by seed if they are random', () => {
    expect(generate('poisson', { seed: 1 })).not.toEqual(generate('poisson', { seed: 2 }))
  })

  it('space steady arrivals evenly and send a burst together', () => {
    const steady = generate('steady', { seconds: 1, rate: 4 }).map(({ at }) => at)
    expect(steady).toEqual([0, 250_000, 500_000, 750_000])
    const burst = generate('burst', { seconds: 10, rate: 2 }).map(({ at }) => at)
    expect(burst).toEqual([...new Array(10).fill(0), ...new Array(10).fill(5_000_000)])
  })

  it('flood a family by one key at one instant, beside others that do not', () => {
    const options = { pattern: 'flood', seconds: 60, rate: 10, keys: 4, prefix: 'a/', seed: 3 } as const
    const arrivals = [...generateArrivals(options)].flat()
    const flood = arrivals.filter(({ key }) => key === 'a/key-1')
    expect(flood).toEqual(Array.from({ length: 300 }, () => ({ at: 6e6, key: 'a/key-1', cost: 1 })))
    const others = new Set(arrivals.map(({ key }) => key))
    expect([...others].sort()).toEqual(['a/key-1', 'a/key-2', 'a/key-3', 'a/key-4'])
    expect(arrivals.length).toBeGreaterThan(500)
  })

  it('end even with hardly any arrivals', () => {
    expect(generate('on-off', { rate: 1e-9 })).toEqual([])
  })
})
