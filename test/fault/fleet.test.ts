import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

test('a steady stream from two producers to three workers breaks no law', async () => {
  const plan = fleet({ limit: '20, 20/s', producer: { jobs: 60, gapMs: 120, comesBack: true } })
  await using campaign = await Campaign.start(plan)
  await campaign.rest()
  const { startsKept } = await campaign.verdict({ lag: NEWS })
  for (const key of plan.keys) expect(startsKept(key)).toBe(120)
})

test('a burst is rejected, comes back after retryAfterMs, and departs no faster than the rate', async () => {
  const plan = fleet({ limit: '40, 20/s', producer: { jobs: 60, comesBack: true } })
  await using campaign = await Campaign.start(plan)
  await campaign.rest()
  const { startsKept, history } = await campaign.verdict({ lag: NEWS })
  for (const key of plan.keys) expect(startsKept(key)).toBe(120)
  expect(history.some((event) => event.type === 'answer' && !event.accepted)).toBe(true)
})

test('handlers that fail twice are started three times, at the rate and in turn', async () => {
  const plan = fleet({
    limit: '20, 20/s',
    producer: { jobs: 18, attempts: 3, backoffMs: 50, comesBack: true },
    worker: { failFirst: 2 },
  })
  await using campaign = await Campaign.start(plan)
  await campaign.rest()
  const { startsKept, history } = await campaign.verdict({ lag: NEWS })
  for (const key of plan.keys) expect(startsKept(key)).toBe(3 * 36)
  const retries = history.filter((event) => event.type === 'return' && event.reason === 'retry')
  expect(retries).toHaveLength(2 * 36 * plan.keys.length)
})

test('with no tolerance, starts in three workers are never closer than the interval', async () => {
  const plan = fleet({ limit: '200, 20/s, tolerance 0', keys: ['a', 'b'], producer: { jobs: 60 } })
  await using campaign = await Campaign.start(plan)
  await campaign.rest()
  const { startsOf, startsKept } = await campaign.verdict({ lag: NEWS })
  for (const key of plan.keys) {
    const starts = startsOf(key)
    expect(startsKept(key)).toBe(120)
    const gaps = starts.slice(1).map((start, index) => start - starts[index]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50)
  }
})
