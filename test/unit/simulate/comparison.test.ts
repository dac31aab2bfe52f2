import { describe, expect, it } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { Comparison, comparedPolicies } from '../../../src/simulate/comparison.ts'
import { fixedWindow } from '../../../src/simulate/policies/fixed-window.ts'
import { leakyMeter } from '../../../src/simulate/policies/leaky-meter.ts'
import type { Policy } from '../../../src/simulate/policies/policy.ts'
import { slidingWindow } from '../../../src/simulate/policies/sliding-window.ts'
import { tokenBucketFull, tokenBucketWarmingUp } from '../../../src/simulate/policies/token-bucket.ts'
import { velvetRope } from '../../../src/simulate/policies/velvet-rope.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'

/** When the jobs that come at `times` (seconds) start; null for those rejected. */
function starts(policy: Policy, limit: string, times: readonly number[], cost = 1) {
  const state = policy.open(parseLimit(limit), 0)
  return times.map((time) => {
    const start = state.offer({ cost }, time * 1e6)
    return start === undefined ? null : start / 1e6
  })
}

describe('policies', () => {
  it('a fixed window lets two quotas through around its edge', () => {
    expect(starts(fixedWindow, '5, 2/s', [0.9, 0.9, 0.9, 1, 1, 1])).toEqual([0.9, 0.9, null, 1, 1, null])
  })

  it('a window of a fractional rate keeps the rate', () => {
    expect(starts(fixedWindow, '5, 0.5/s', [0, 1, 2])).toEqual([0, null, 2])
    expect(fixedWindow.mapping(parseLimit('5, 2.5/s'))).toContain('3 per 1200ms')
  })

  it('a sliding window does not, but only distinguishes slices', () => {
    expect(starts(slidingWindow(10), '5, 2/s', [0.95, 0.95, 1, 1.89, 1.9])).toEqual([
      0.95,
      0.95,
      null,
      null,
      1.9,
    ])
  })

  it('a token bucket lets a burst of its capacity through, then the rate', () => {
    expect(starts(tokenBucketFull, '3, 2/s', [0, 0, 0, 0, 0.4, 0.5, 9, 9, 9, 9])).toEqual([
      0,
      0,
      0,
      null,
      null,
      0.5,
      9,
      9,
      9,
      null,
    ])
  })

  it('a token bucket that warms up has the same burst later', () => {
    expect(starts(tokenBucketWarmingUp, '3, 2/s', [0, 0.5, 9, 9, 9, 9])).toEqual([null, 0.5, 9, 9, 9, null])
  })

  it('a meter gives the verdicts of the full token bucket', () => {
    const times = Array.from({ length: 200 }, (_, index) => ((index * index) % 97) / 9 + index / 3)
    const sorted = times.sort((a, b) => a - b)
    for (const cost of [1, 2]) {
      expect(starts(leakyMeter, '4, 3/s', sorted, cost)).toEqual(
        starts(tokenBucketFull, '4, 3/s', sorted, cost),
      )
    }
  })

  it('velvet-rope starts as many, one by one', () => {
    expect(starts(velvetRope(), '3, 2/s', [0, 0, 0, 0, 0, 0.5])).toEqual([0, 0.5, 1, 1.5, null, 2])
  })

  const LIMITS = ['4, 3/s', '4, 3/s, 4 per 1500ms, 9 tokens per 1700ms 2 each']
  const EACH = LIMITS.flatMap((text) =>
    comparedPolicies(10).map((policy) => ({ text, policy, name: policy.name })),
  )

  it.each(EACH)('$name behaves like new under $text once it reports that', ({ text, policy }) => {
    const limit = parseLimit(text)
    const used = policy.open(limit, 0)
    used.offer({ cost: 1 }, 0)
    expect(used.isOver(1)).toBe(policy === tokenBucketWarmingUp)
    let now = 1
    while (!used.isOver(now)) now += 1_000
    expect(now).toBeLessThan(3_500_000)
    const fresh = policy.open(limit, 0)
    for (let index = 0; index < 8; index++)
      expect(used.offer({ cost: 1 }, now)).toBe(fresh.offer({ cost: 1 }, now))
  })
})

describe('policies under a limit of several parts', () => {
  /** The policies that refuse, at the same times. */
  const METERS = [fixedWindow, slidingWindow(10), tokenBucketFull, leakyMeter]

  function offer(
    policy: Policy,
    limit: string,
    jobs: readonly [at: number, cost: number, tokens?: number][],
  ) {
    const state = policy.open(parseLimit(limit), 0)
    return jobs.map(([at, cost, tokens]) => {
      const costs = tokens === undefined ? {} : { costs: { tokens } }
      return state.offer({ cost, ...costs }, at * 1e6) !== undefined
    })
  }

  it.each(METERS)('$name counts each quota that rolls, in its unit', (policy) => {
    const limit = '100, 100/s, 5/minute, 90 tokens per 2 minutes 20 each'
    expect(
      offer(policy, limit, [
        [0, 3],
        [0, 2],
        [1, 1],
      ]),
    ).toEqual([true, true, false])
    // 20 of those without a name, and 50.
    expect(
      offer(policy, limit, [
        [0, 1],
        [1, 1, 50],
        [2, 1, 23],
        [3, 1, 20],
      ]),
    ).toEqual([true, true, false, true])
  })

  it.each(METERS)('$name counts nothing of a job that one part refuses', (policy) => {
    const limit = '100, 4/s, 6 tokens/minute 1 each'
    const jobs: [number, number, number][] = [
      [0, 1, 6],
      [0, 2, 1],
      [0, 1, 1],
      [60.1, 3, 6],
    ]
    expect(offer(policy, limit, jobs)).toEqual([true, false, false, true])
  })

  it('a meter gives the verdicts of the full token bucket there, too', () => {
    const limit = '4, 3/s, 7 per 5 seconds, 40 tokens per 9 seconds 3 each'
    const jobs = Array.from({ length: 300 }, (_, index): [number, number, number?] => {
      return [
        index / 5 + ((index * index) % 97) / 500,
        1 + (index % 2),
        index % 3 ? 1 + (index % 11) : undefined,
      ]
    }).sort(([a], [b]) => a - b)
    expect(offer(leakyMeter, limit, jobs)).toEqual(offer(tokenBucketFull, limit, jobs))
  })

  it('velvet-rope is what simulate says of the same limit', () => {
    const limits = new RuleBook({ '*': '9, 4/s, 20/minute, 90 tokens per 30 seconds 2 each, 2 at once' })
    const handlerTime = 2_300_000
    const comparison = new Comparison(limits, comparedPolicies(10, handlerTime))
    const simulation = new Simulation(limits, handlerTime)
    for (let index = 0; index < 400; index++) {
      const tokens = 1 + (index % 9)
      const arrival = { at: index * 211_000, key: 'a', cost: 1, ...(index % 2 && { costs: { tokens } }) }
      comparison.offer(arrival)
      simulation.offer(arrival)
    }
    const { accepted, rejected } = simulation.summary()
    expect(comparison.results().at(-1)).toMatchObject({ policy: 'velvet-rope', accepted, rejected })
    expect(rejected).toBeGreaterThan(50)
  })

  it('say which parts they count', () => {
    const limit = parseLimit('9, 4/s, 20/minute, 90 tokens/hour 2 each, 5 per day in UTC, 2 at once')
    for (const policy of comparedPolicies(10).slice(0, -1)) {
      expect(policy.mapping(limit)).toMatch(/; the same for 20\/minute and 90 tokens\/hour$/)
    }
    expect(velvetRope().mapping(limit)).toBe(
      'a line of at most 9, departing one by one at 4/s, within 20/minute and 90 tokens/hour and 5 per day in UTC and 2 at once',
    )
    const book = new RuleBook({ '*': '9, 4/s, 5 per day in UTC, 2 at once', a: '9, 4/s, 5/day, 2 at once' })
    expect(new Comparison(book, []).leftOut).toEqual(['5 per day in UTC', '2 at once'])
  })
})

describe('comparison', () => {
  function compare(limit: string, times: readonly number[], keys = 1) {
    const comparison = new Comparison(new RuleBook({ '*': limit }), comparedPolicies(10))
    times.forEach((time, index) => {
      comparison.offer({ at: time * 1e6, key: `key-${index % keys}`, cost: 1 })
    })
    return comparison
  }

  it('shows what each policy does to a burst', () => {
    const results = compare('20, 10/s', new Array(100).fill(0)).results()
    const table = results.map((result) => [
      result.policy,
      result.accepted,
      result.rejected,
      result.mostStartsInOneSecond,
      result.smallestGapByInterval,
    ])
    expect(table).toEqual([
      ['fixed window', 10, 90, 10, 0],
      ['sliding window (10)', 10, 90, 10, 0],
      ['token bucket, full', 20, 80, 20, 0],
      ['token bucket, warming up', 0, 100, 0, null],
      ['leaky bucket as a meter', 20, 80, 20, 0],
      ['velvet-rope', 21, 79, 10, 1],
    ])
  })

  it('measures smoothness key by key', () => {
    const results = compare('20, 10/s', new Array(100).fill(0), 100).results()
    for (const result of results.filter(({ accepted }) => accepted > 0)) {
      expect(result).toMatchObject({ accepted: 100, mostStartsInOneSecond: 1, smallestGapByInterval: null })
    }
  })

  it('has no result before the first arrival', () => {
    expect(compare('1, 1/s', []).results()).toEqual([])
    expect(compare('1, 1/s', []).spread()).toBeUndefined()
  })
})
