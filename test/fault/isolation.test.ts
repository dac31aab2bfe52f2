import { expect, test } from 'vitest'
import { parseLimit } from '../../src/core/limit.ts'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { latenessOf, percentile } from '../support/campaign/lateness.ts'

test('handlers of one key that take five seconds move no departure of 99 other keys', async () => {
  const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
  const { interval, tolerance } = parseLimit('100, 5/s')
  const plan = fleet({
    limit: '100, 5/s',
    keys,
    producer: { jobs: 20 },
    worker: { concurrency: 100, takesMs: 2, slow: { key: 'k0', takesMs: 5_000 } },
  })
  await using campaign = await Campaign.start(plan)
  await campaign.rest(40_000)
  const { startsOf } = await campaign.verdict({ lag: NEWS })
  const late = keys.slice(1).flatMap((key) => latenessOf(startsOf(key), interval / 1_000, tolerance / 1_000))
  expect(late).toHaveLength(99 * 40)
  const told = [0.5, 0.9, 0.99, 1].map((share) => `${percentile(late, share).toFixed(1)} ms`)
  expect(percentile(late, 0.99), `late by (p50, p90, p99, most): ${told.join(', ')}`).toBeLessThanOrEqual(
    tolerance / 1_000,
  )
})
