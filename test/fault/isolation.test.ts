import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

const JOBS = 50
/** As long as all jobs of a key that is not slow take. */
const SLOW_MS = 10_000
const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)

test('99 keys are done while the last handlers of a slow key still run', async () => {
  const plan = fleet({
    limit: '100, 5/s',
    keys,
    // Each process more takes the two processors of a small machine away from the one that is measured.
    workers: [{ concurrency: 100, leaseMs: 5_000, takesMs: 2, slow: { key: 'k0', takesMs: SLOW_MS } }],
  })
  await using campaign = await Campaign.start({ ...plan, producers: [{ name: 'p', jobs: JOBS }] })
  await campaign.rest()
  const { startsOf, history } = await campaign.verdict({ lag: NEWS })
  for (const key of keys) expect(startsOf(key)).toHaveLength(JOBS)
  const slowIds = new Set(
    history.flatMap((event) => (event.type === 'start' && event.key === 'k0' ? [event.id] : [])),
  )
  const ends = history.flatMap((event) =>
    event.type === 'end' && slowIds.has(event.id) ? [event.at / 1_000] : [],
  )
  const lastOfOthers = Math.max(...keys.slice(1).flatMap(startsOf))
  expect(lastOfOthers).toBeLessThan(Math.max(...ends))
})
