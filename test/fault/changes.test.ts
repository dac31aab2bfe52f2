import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

/** Microseconds for which a slot that was promised under the old limit may still be used. */
const SETTLE = 300_000

/** How long all workers are away; milliseconds. */
const AWAY_MS = 60_000
const EVERY_MS = 300

test('a limit that is raised and lowered tenfold under load is kept at every moment', async () => {
  const plan = fleet({ limit: '300, 10/s', keys: ['a', 'b'], producer: { jobs: 110 } })
  await using campaign = await Campaign.start(plan)
  const chance = new Chance()
  for (const limit of ['300, 100/s', '300, 10/s', '300, 100/s']) {
    await sleep(chance.between(500, 2_000))
    await campaign.setLimit(limit)
  }
  await campaign.rest()
  const { startsKept } = await campaign.verdict({ lag: NEWS, settle: SETTLE })
  expect(startsKept('a')).toBe(220)
})

test('500 waiting jobs follow a limit that goes up tenfold and then far down', async () => {
  const plan = fleet({ limit: '600, 1/s', keys: ['a'], producer: { jobs: 250 } })
  await using campaign = await Campaign.start(plan)
  await Promise.all(campaign.producers.map((producer) => producer.said('done')))
  await campaign.setLimit('600, 10/s')
  await sleep(4_000)
  await campaign.setLimit('600, 0.5/s')
  await sleep(7_000)
  await campaign.setLimit('600, 200/s')
  await campaign.rest()
  const { startsOf, startsKept, history } = await campaign.verdict({ lag: NEWS, settle: SETTLE })
  const [raised = 0, lowered = 0, drained = 0] = history
    .filter((event) => event.type === 'limit' && event.at > 0)
    .map(({ at }) => at / 1_000)
  const starts = startsOf('a')
  const between = (from: number, to: number) => starts.filter((at) => at > from && at <= to)
  // At the rate before there would be one a second.
  expect(between(raised, lowered).length).toBeGreaterThan((2 * (lowered - raised)) / 1_000)
  const slow = between(lowered + SETTLE / 1_000, drained)
  expect(slow.length).toBeLessThanOrEqual(Math.ceil((drained - lowered) / 2_000))
  expect(startsKept('a')).toBe(500)
})

test('workers that are closed and replaced one after the other disturb neither order nor spacing', async () => {
  const plan = fleet({ producer: { jobs: 70 } })
  await using campaign = await Campaign.start(plan)
  for (const worker of [...campaign.workers]) {
    await campaign.addWorker(plan.workers[0]!)
    await campaign.close(worker)
  }
  await campaign.rest()
  const { startsKept } = await campaign.verdict({ lag: NEWS })
  expect(startsKept()).toBe(560)
})

test('a fleet that comes back to a backlog starts nothing faster than the rate', async () => {
  const plan = fleet({
    limit: '500, 50/s',
    keys: ['a', 'b', 'c'],
    producer: { jobs: AWAY_MS / EVERY_MS + 10, gapMs: EVERY_MS },
    worker: { tellsStarts: true },
  })
  await using campaign = await Campaign.start(plan)
  const before = [...campaign.workers]
  await Promise.all(before.map((worker) => worker.said('in-handler')))
  for (const worker of before) await campaign.kill(worker)
  await sleep(AWAY_MS)
  for (const worker of plan.workers) await campaign.addWorker(worker)
  await campaign.rest()
  const { history } = await campaign.verdict({ lag: NEWS })
  expect(history.filter((event) => event.type === 'end')).toHaveLength(2 * 3 * (AWAY_MS / EVERY_MS + 10))
})
