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
  const { startsOf, startsKept, history } = await campaign.verdict({ lag: NEWS })
  for (const key of keys) expect(startsKept(key)).toBe(JOBS)
  const slowIds = new Set(
    history.flatMap((event) => (event.type === 'start' && event.key === 'k0' ? [event.id] : [])),
  )
  const ends = history.flatMap((event) =>
    event.type === 'end' && slowIds.has(event.id) ? [event.at / 1_000] : [],
  )
  const lastOfOthers = Math.max(...keys.slice(1).flatMap(startsOf))
  expect(lastOfOthers).toBeLessThan(Math.max(...ends))
})

/** Far more than stand before a calm job when it is handed over, and far fewer than the hot keys have. */
const MOST_BEFORE = 600

test('four keys that are far behind 20,000/s leave a calm key its starts', async () => {
  const hot = ['h0', 'h1', 'h2', 'h3']
  const plan = fleet({
    limit: '10000, 20000/s, tolerance 1ms',
    limits: { calm: '100, 5/s' },
    keys: [...hot, 'calm'],
    workers: [{ concurrency: 20, leaseMs: 5_000, takesMs: 1 }],
  })
  const producers = [
    { name: 'p', jobs: 1_500, keys: hot },
    { name: 'q', jobs: 15, keys: ['calm'], gapMs: 200 },
  ]
  await using campaign = await Campaign.start({ ...plan, producers })
  await campaign.rest()
  const { history, startsOf, startsKept } = await campaign.verdict({ lag: NEWS })
  const calm = startsOf('calm')
  expect(startsKept('calm')).toBe(15)
  const starts = hot.flatMap(startsOf)
  const admitted = history.flatMap((event) =>
    event.type === 'answer' && event.accepted && event.key === 'calm' ? [event.at / 1_000] : [],
  )
  // How long a job waits depends on the machine; how many others start meanwhile does not.
  const before = calm.map((start, index) => {
    const due = Math.max(admitted[index] ?? 0, (calm[index - 1] ?? 0) + 200)
    return starts.filter((other) => other > due && other < start).length
  })
  expect(Math.max(...before), 'starts of hot keys while a calm job was due').toBeLessThan(MOST_BEFORE)
})
