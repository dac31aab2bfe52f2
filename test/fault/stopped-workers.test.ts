import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

const STOPS = 20
/** Less than the leases of 5 s, whatever a busy machine adds; and more. Least and most, milliseconds. */
const STOP_MS = [20, 400] as const
const LONG_STOP_MS = [6_500, 9_000] as const

// Ten departures a second and key: nearly always a worker waits for a slot that it was promised.
const plan = fleet({
  limit: '200, 10/s',
  keys: ['a', 'b'],
  producer: { jobs: 75 },
})

test('workers that are stopped for a moment start nothing too early and nothing twice', async () => {
  await using campaign = await Campaign.start(plan)
  const chance = new Chance()
  for (let stop = 0; stop < STOPS; stop++) {
    await campaign.stop(chance.pick(campaign.workers), chance.between(...STOP_MS))
    // At any moment of the interval.
    await sleep(chance.between(0, 200))
  }
  await campaign.rest()
  const { startsKept } = await campaign.verdict({ lag: NEWS + STOP_MS[1] * 1_000 })
  expect(startsKept()).toBe(300)
})

test('a worker that is stopped for longer than its leases starts nothing that was given to others', async () => {
  await using campaign = await Campaign.start(plan)
  const chance = new Chance()
  await sleep(chance.between(500, 3_000))
  await campaign.stop(chance.pick(campaign.workers), chance.between(...LONG_STOP_MS))
  await campaign.rest()
  const { history, startsKept } = await campaign.verdict({ lag: NEWS })
  const count = (type: string) => history.filter((event) => event.type === type).length
  expect(startsKept()).toBeLessThanOrEqual(300 + count('fault'))
  expect(count('end')).toBe(300)
})
