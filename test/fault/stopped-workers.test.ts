import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

const STOPS = 20
const STOP_MS = 200
const LONG_STOP_MS = 5_000

// Ten departures a second and key: nearly always a worker waits for a slot that it was promised.
const plan = fleet({
  limit: '200, 10/s',
  keys: ['a', 'b'],
  producer: { jobs: 75 },
  worker: { leaseMs: 1_500 },
})

test('workers that stand still for a moment start nothing too early and nothing twice', async () => {
  await using campaign = await Campaign.start(plan)
  for (let stop = 0; stop < STOPS; stop++) {
    await campaign.stop(campaign.workers[stop % 3]!, STOP_MS)
    // Each time at another moment of the interval.
    await sleep(37 * (1 + (stop % 5)))
  }
  await campaign.rest(40_000)
  const { history } = await campaign.verdict({ lag: NEWS + STOP_MS * 1_000 })
  expect(history.filter((event) => event.type === 'start')).toHaveLength(300)
})

test('a worker that stands still for longer than its leases starts nothing that was given to others', async () => {
  await using campaign = await Campaign.start(plan)
  await sleep(1_500)
  await campaign.stop(campaign.workers[0]!, LONG_STOP_MS)
  await campaign.rest(40_000)
  const { history } = await campaign.verdict({ lag: NEWS })
  const count = (type: string) => history.filter((event) => event.type === type).length
  expect(count('start')).toBeLessThanOrEqual(300 + count('fault'))
  expect(count('end')).toBe(300)
})
