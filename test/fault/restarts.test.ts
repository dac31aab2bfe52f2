import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { longestStandstill } from '../support/campaign/lateness.ts'

const RESTARTS = 6

const plan = () => {
  const worker = { concurrency: 10, takesMs: 20 }
  return fleet({
    limit: '500, 10/s',
    keys: ['a'],
    producer: { jobs: 100 },
    workers: [worker, worker],
  })
}

test('workers that are replaced one after the other give back at once what they hold', async () => {
  await using campaign = await Campaign.start(plan())
  const [worker] = campaign.workers.map((child) => child.plan.worker!)
  for (let restart = 0; restart < RESTARTS; restart++) {
    await sleep(1_000 + 37 * restart)
    // Now the elder, now the younger of the two: one of them hands over.
    await campaign.close(campaign.workers[restart % 2]!)
    await campaign.addWorker(worker!)
  }
  await campaign.rest()
  const { history, startsOf } = await campaign.verdict({ lag: NEWS })
  expect(startsOf('a')).toHaveLength(200)
  expect(history.filter(({ type }) => type === 'end')).toHaveLength(200)
  // How long that is depends on the machine; 250 ms where it has time.
  console.info(
    `longest gap over ${RESTARTS} clean restarts: ${longestStandstill(startsOf('a')).toFixed(0)} ms`,
  )
})

test('a worker that is killed holds its line up for no longer than the leases of what it held', async () => {
  await using campaign = await Campaign.start(plan())
  await sleep(1_500)
  await campaign.kill(campaign.workers[0]!)
  await campaign.rest()
  const { history, startsOf } = await campaign.verdict({ lag: NEWS })
  expect(history.filter(({ type }) => type === 'end')).toHaveLength(200)
  console.info(`longest gap after a kill: ${longestStandstill(startsOf('a')).toFixed(0)} ms`)
})
