import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseLimit } from '../../src/core/limit.ts'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { latenessOf, percentile } from '../support/campaign/lateness.ts'

const JOBS = 50
/** Until the compiler has seen the code: what it holds up hits all keys alike. */
const WARM_UP = 10
const LIMIT = '100, 5/s'
const { interval, tolerance } = parseLimit(LIMIT)
const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)

/** How late 99 keys start, in milliseconds, while handlers of the other one take so long. */
async function latenessBeside(takesMs: number): Promise<number[]> {
  const plan = fleet({
    limit: LIMIT,
    keys,
    // Each process more takes the two processors of a small machine away from the one that is measured.
    workers: [{ concurrency: 100, leaseMs: 5_000, takesMs: 2, slow: { key: 'k0', takesMs } }],
  })
  await using campaign = await Campaign.start({ ...plan, producers: [{ name: 'p', jobs: JOBS }] })
  await campaign.rest(40_000)
  const { startsOf } = await campaign.verdict({ lag: NEWS })
  return keys
    .slice(1)
    .flatMap((key) => latenessOf(startsOf(key), interval / 1_000, tolerance / 1_000).slice(WARM_UP))
}

const tell = (late: readonly number[]) =>
  [0.5, 0.9, 0.99, 1].map((share) => `${percentile(late, share).toFixed(1)} ms`).join(', ')

test('handlers of one key that take five seconds move no departure of 99 other keys', async () => {
  const beside = await latenessBeside(5_000)
  const without = await latenessBeside(2)
  expect(beside).toHaveLength(99 * (JOBS - WARM_UP))
  expect(
    percentile(beside, 0.99) - percentile(without, 0.99),
    `late by (p50, p90, p99, most): ${tell(beside)}; without the slow one: ${tell(without)}`,
  ).toBeLessThanOrEqual(tolerance / 1_000)
})

test('four keys that are far behind 20,000/s leave a calm key its starts', async () => {
  const hot = ['h0', 'h1', 'h2', 'h3']
  const plan = fleet({
    limit: '10000, 20000/s, tolerance 1ms',
    limits: { calm: LIMIT },
    keys: [...hot, 'calm'],
    workers: [{ concurrency: 20, leaseMs: 5_000, takesMs: 1 }],
  })
  const producers = [
    { name: 'p', jobs: 800, keys: hot },
    { name: 'q', jobs: 15, keys: ['calm'], gapMs: 200 },
  ]
  await using campaign = await Campaign.start({ ...plan, producers })
  await campaign.rest(60_000)
  const { history, startsOf } = await campaign.verdict({ lag: NEWS })
  const admitted = new Map(
    history.flatMap((event) => (event.type === 'answer' && event.accepted ? [[event.id, event.at]] : [])),
  )
  expect(startsOf('calm')).toHaveLength(15)
  const waits = history.flatMap((event) =>
    event.type === 'start' && event.key === 'calm' ? [event.at - admitted.get(event.id)!] : [],
  )
  expect(Math.max(...waits) / SECOND, 'the longest wait of a calm job, in seconds').toBeLessThan(10)
})
