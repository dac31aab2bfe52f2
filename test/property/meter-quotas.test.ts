import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { parseLimit } from '../../src/core/limit.ts'
import { type Costs, Meter } from '../../src/meter.ts'
import { checkHistory, type HistoryEvent, VirtualClock } from '../../src/testing.ts'

const MS = 1_000
const START = Date.UTC(2026, 2, 8, 9, 59, 50) * MS

const LIMITS = [
  '20, 20/s, 7 per 5 seconds',
  '20, 10/s, 100 tokens/second 20 each',
  '30, 50/s, 10/second, 40 per 7 seconds, 300 tokens per 3 seconds 30 each',
  '5, 2/s, 12 per 4 seconds, 150 tokens per 2 seconds 25 each',
  '20, 20/s, 9 per hour in UTC, 200 tokens per hour in Asia/Kolkata 10 each',
  '10, 5/s',
]
const step = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 5_000 })),
  amount: fc.integer({ min: 0, max: 4 }),
  tokens: fc.option(fc.integer({ min: 1, max: 120 }), { nil: undefined }),
  retries: fc.boolean(),
})
const scenario = fc.record({
  limit: fc.constantFrom(...LIMITS),
  steps: fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
})

/** As the checker reads starts: each accepted fill is one. */
function startOf(id: string, at: number, cost: number, costs: Costs | undefined): HistoryEvent {
  return { type: 'start', id, key: 'k', at, cost, attempt: 1, ...(costs && { costs }) }
}

test('a meter keeps every quota of its limit (L10), and a fill that comes back after retryAfterMs goes in', async () => {
  const property = fc.asyncProperty(scenario, async ({ limit, steps }) => {
    const clock = new VirtualClock(START)
    const meter = new Meter('m', { limits: { '*': limit }, clock })
    onTestFinished(() => meter.close())
    const history: HistoryEvent[] = [{ type: 'limit', key: 'k', at: START, limit: parseLimit(limit) }]
    const fill = async (amount: number, costs: Costs | undefined) => {
      const before = await meter.level('k', amount, costs)
      const reading = await meter.fill('k', amount, costs)
      expect(reading.accepted).toBe(before.accepted)
      if (!reading.accepted) expect(reading).toMatchObject(before)
      else if (amount > 0 || costs) history.push(startOf(`${history.length}`, clock.now(), amount, costs))
      return reading
    }
    for (const { afterMs, amount, tokens, retries } of steps) {
      await clock.advance(afterMs * MS)
      const costs = tokens === undefined || !limit.includes('tokens') ? undefined : { tokens }
      const { accepted, retryAfterMs, refusedBy } = await fill(amount, costs)
      if (accepted || !retries || retryAfterMs === Number.POSITIVE_INFINITY) continue
      await clock.advance((retryAfterMs - 1) * MS)
      if (refusedBy !== undefined) expect((await fill(amount, costs)).accepted).toBe(false)
      await clock.advance(1 * MS)
      expect((await fill(amount, costs)).accepted).toBe(true)
    }
    expect(checkHistory(history).filter(({ law }) => law === 'L10')).toEqual([])
  })
  await fc.assert(property, { numRuns: 200 })
})
