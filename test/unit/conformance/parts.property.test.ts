import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import type { CalendarWindow } from '../../../src/core/calendar.ts'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import type { Quota } from '../../../src/core/quota.ts'
import { seededRandom } from '../../../src/simulate/random.ts'
import { quota } from '../../support/history.ts'
import { simulateLine } from '../../support/quota-line.ts'

/** Shortly before midnight in Los Angeles, on the day whose night has an hour twice. */
const FROM = Date.parse('2026-11-01T06:59:40Z') * 1_000
const zone = 'America/Los_Angeles'
const windows = fc.constantFrom<number | CalendarWindow>(
  1_000,
  7_777,
  60_000,
  { period: 'hour', zone },
  { period: 'day', zone },
)
const quotas: fc.Arbitrary<Quota> = fc
  .record({ window: windows, amount: fc.integer({ min: 4, max: 30 }), isTokens: fc.boolean() })
  .map(({ window, amount, isTokens }) =>
    isTokens ? quota(amount, window, 'tokens', 3) : quota(amount, window),
  )
const limits: fc.Arbitrary<Limit> = fc
  .record({
    rate: fc.constantFrom('2/s', '10/s', '100/s, tolerance 0'),
    quotas: fc.uniqueArray(quotas, {
      maxLength: 3,
      selector: ({ window, unit }) => JSON.stringify([window, unit]),
    }),
    concurrency: fc.constantFrom(1, 2, 5, Number.POSITIVE_INFINITY),
  })
  .map(({ rate, ...parts }) => ({ ...parseLimit(`1000, ${rate}`), ...parts }))
const runs = fc.record({
  limit: limits,
  seed: fc.integer({ min: 1, max: 1e9 }),
  jobs: fc.integer({ min: 1, max: 60 }),
})

test('a line that keeps the laws has no breach', () => {
  fc.assert(
    fc.property(runs, fc.boolean(), ({ limit, seed, jobs }, mayIdle) => {
      const { history } = simulateLine(limit, jobs, FROM, seededRandom(seed), mayIdle)
      expect(checkHistory(history)).toEqual([])
      expect(checkHistory(history, { lag: 3_000_000, settle: 1_000_000 })).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('a line that never starts later than it may has its whole rate', () => {
  fc.assert(
    fc.property(runs, ({ limit, seed, jobs }) => {
      const { history } = simulateLine(limit, jobs, FROM, seededRandom(seed), false)
      expect(checkHistory(history, { minUtilisation: 0.9999, shortestStretch: 2 })).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('each start that a quota or a place kept back is a breach a microsecond earlier', () => {
  let judged = 0
  fc.assert(
    fc.property(runs, fc.nat(), ({ limit, seed, jobs }, which) => {
      const { history, heldBack } = simulateLine(limit, jobs, FROM, seededRandom(seed), true)
      const id = heldBack[which % heldBack.length]
      if (id === undefined) return
      const laws = checkHistory(startedSooner(history, id)).flatMap((breach) =>
        breach.id === id ? [breach.law] : [],
      )
      expect(['L10', 'L11']).toContain(laws.find((law) => law !== 'L2'))
      judged += 1
    }),
    { numRuns: 300 },
  )
  expect(judged).toBeGreaterThan(100)
})

/** The same history, in which the job starts a microsecond sooner. */
function startedSooner(history: readonly HistoryEvent[], id: string): HistoryEvent[] {
  const others = history.filter((event) => event.type !== 'start' || event.id !== id)
  const start = history.find((event) => event.type === 'start' && event.id === id)!
  const at = start.at - 1
  const place = others.findIndex((event) => event.at > at)
  return others.toSpliced(place, 0, { ...start, at })
}

test('a million events under quotas and a bound on what runs at once are checked in seconds', () => {
  const [second, hour] = [quota(200, 1_000), quota(9_000_000, 3_600_000, 'tokens', 10)]
  const day = quota(17_280_000, { period: 'day', zone: 'UTC' })
  const limit = { ...parseLimit('1000, 200/s'), quotas: [second, hour, day], concurrency: 2 }
  const history: HistoryEvent[] = [{ type: 'limit', at: FROM, key: 'a', limit }]
  for (let job = 0; job < 250_000; job++) {
    const at = FROM + job * 5_000
    const about = { at, id: `j${job}`, key: 'a' }
    history.push({ type: 'answer', ...about, cost: 1, accepted: true, departsAt: at })
    history.push({ type: 'start', ...about, cost: 1, attempt: 1, fence: job })
    history.push({ type: 'settle', ...about, amounts: { tokens: job % 20 }, fence: job })
    history.push({ type: 'end', at: at + 4_000, id: about.id, outcome: 'completed' })
  }
  expect(checkHistory(history, { minUtilisation: 0.999 })).toEqual([])
})
