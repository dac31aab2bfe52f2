import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import { changeUsage, countedUnder, hasOver } from '../../../src/core/remembered.ts'
import * as core from '../../../src/core/usage.ts'
import { quota } from '../../support/history.ts'

const FROM = Date.parse('2026-11-01T06:59:40Z') * 1_000
const zone = 'America/Los_Angeles'
const quotas = fc
  .record({
    window: fc.constantFrom(
      1_000,
      7_777,
      60_000,
      { period: 'hour', zone } as const,
      { period: 'day', zone } as const,
    ),
    amount: fc.integer({ min: 4, max: 30 }),
    isTokens: fc.boolean(),
  })
  .map(({ window, amount, isTokens }) =>
    isTokens ? quota(amount, window, 'tokens', 3) : quota(amount, window),
  )
const limits: fc.Arbitrary<Limit> = fc
  .uniqueArray(quotas, {
    minLength: 1,
    maxLength: 3,
    selector: ({ window, unit }) => JSON.stringify([window, unit]),
  })
  .map((parts) => ({ ...parseLimit('1000, 10/s, tolerance 0'), quotas: parts }))
const steps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        cost: fc.integer({ min: 1, max: 3 }),
        tokens: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
        actual: fc.option(fc.nat(6), { nil: undefined }),
        after: fc.nat(2_000_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ limit: limits, after: fc.nat(2_000_000) }) },
  ),
  { minLength: 1, maxLength: 60 },
)

test('the core keeps L10 through settling and changed limits', () => {
  fc.assert(
    fc.property(limits, steps, (first, list) => {
      let limit = first
      let counted: core.Quotas = limit
      let usage = core.createUsage(limit)
      const countUnder = (after: Limit, now: number) => {
        const next = countedUnder(after, counted, usage, now)
        usage = changeUsage(counted, usage, next, now)
        limit = after
        counted = next
      }
      let now = FROM
      const history: HistoryEvent[] = [{ type: 'limit', at: now, key: 'a', limit }]
      for (const [index, step] of list.entries()) {
        now += step.after
        core.tidy(counted, usage, now)
        if ('limit' in step) {
          countUnder(step.limit, now)
          history.push({ type: 'limit', at: now, key: 'a', limit })
          continue
        }
        const { cost, tokens, actual } = step
        const id = `j${index}`
        const costs = tokens === undefined ? undefined : { tokens }
        history.push({ type: 'answer', at: now, id, key: 'a', cost, costs, accepted: true, departsAt: now })
        now = Math.max(
          now + 300_000,
          core.roomAt(limit, usage, core.chargesOf(limit, { cost, costs }), now + 300_000),
        )
        if (hasOver(counted, usage, now)) countUnder(limit, now)
        core.tidy(counted, usage, now)
        core.charge(counted, usage, core.chargesOf(counted, { cost, costs }), now)
        history.push({ type: 'start', at: now, id, key: 'a', cost, attempt: 1 })
        if (actual === undefined) continue
        core.settle(counted, usage, 'tokens', tokens ?? 3, actual, now)
        history.push({ type: 'settle', at: now, id, key: 'a', amounts: { tokens: actual } })
      }
      expect(checkHistory(history, { unfinished: true })).toEqual([])
    }),
    { numRuns: 500 },
  )
})

test('a calendar that takes over from another near a boundary counts what may have started in either period', () => {
  const midnight = Date.parse('2026-03-06T00:00:00Z') * 1_000
  const before = { ...parseLimit('9, 10/s'), quotas: [quota(9, { period: 'hour', zone: 'UTC' })] }
  const after = { ...before, quotas: [quota(1, { period: 'day', zone: 'UTC' })] }
  const usage = core.createUsage(before)
  core.charge(before, usage, [1], midnight - 600_000_000)
  const changed = changeUsage(before, usage, after, midnight - 1_100_000)
  expect(core.roomAt(after, changed, [1], midnight - 1_090_000)).toBeGreaterThan(midnight)
})
