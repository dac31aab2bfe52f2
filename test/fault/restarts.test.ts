import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { longestStandstill } from '../support/campaign/lateness.ts'

const RESTARTS = 6
/** No machine is so busy that a line stands still for so long when nothing holds it up; milliseconds. */
const PATIENCE_MS = 30_000

const plan = (leaseMs: number) => {
  const worker = { concurrency: 10, leaseMs, takesMs: 20 }
  return fleet({
    limit: '500, 10/s',
    keys: ['a'],
    producer: { jobs: 100 },
    workers: [worker, worker],
  })
}

test('workers that are replaced one after the other give back immediately what they hold', async () => {
  const { workers, ...others } = plan(4 * PATIENCE_MS)
  await using campaign = await Campaign.start({ ...others, workers })
  const chance = new Chance()
  for (let restart = 0; restart < RESTARTS; restart++) {
    await sleep(chance.between(500, 1_500))
    // The elder or the younger of the two: one of them hands over.
    await campaign.close(chance.pick(campaign.workers))
    await campaign.addWorker(workers[0]!)
  }
  await campaign.rest()
  const { history, startsOf, startsKept } = await campaign.verdict({ lag: NEWS })
  expect(startsKept('a')).toBe(200)
  expect(history.filter(({ type }) => type === 'end')).toHaveLength(200)
  // How long that is depends on the machine, 250 ms where it has time; what waits for a lease waits for much longer.
  const longest = longestStandstill(startsOf('a'))
  console.info(`longest gap over ${RESTARTS} clean restarts: ${longest.toFixed(0)} ms`)
  expect(longest).toBeLessThan(PATIENCE_MS)
})

test('a worker that is killed holds its line up for no longer than the leases of what it held', async () => {
  const leaseMs = 5_000
  await using campaign = await Campaign.start(plan(leaseMs))
  const chance = new Chance()
  await sleep(chance.between(500, 3_000))
  await campaign.kill(chance.pick(campaign.workers))
  await campaign.rest()
  const { history, startsOf } = await campaign.verdict({ lag: NEWS })
  expect(history.filter(({ type }) => type === 'end')).toHaveLength(200)
  const longest = longestStandstill(startsOf('a'))
  console.info(`longest gap after a kill: ${longest.toFixed(0)} ms`)
  expect(longest).toBeLessThan(leaseMs + PATIENCE_MS)
})
