import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

test('workers killed in their handlers lose no job; each start too many has its crash', async () => {
  const plan = fleet({ producer: { jobs: 90 }, worker: { takesMs: 400, tellsStarts: true } })
  await using campaign = await Campaign.start(plan)
  const chance = new Chance()
  for (let kill = 0; kill < 3; kill++) {
    const victim = chance.pick(campaign.workers.filter(({ isAlive }) => isAlive))
    await victim.said('in-handler', { from: victim.spoken })
    // In a handler, or between two.
    await sleep(chance.between(0, 500))
    await campaign.kill(victim)
    await campaign.addWorker(plan.workers[0]!)
    await sleep(chance.between(200, 2_500))
  }
  await campaign.rest()
  const { history, startsKept } = await campaign.verdict({ lag: NEWS })
  const count = (type: string) => history.filter((event) => event.type === type).length
  expect(count('fault')).toBeGreaterThanOrEqual(1)
  expect(startsKept()).toBeLessThanOrEqual(720 + count('fault'))
  expect(count('end')).toBe(720)
})

test('when the elected scheduler is killed another takes over', async () => {
  const scheduler = { concurrency: 1, leaseMs: 5_000, scheduler: true }
  const worker = { concurrency: 50, leaseMs: 5_000, takesMs: 20, scheduler: false, tellsStarts: true }
  const workers = [scheduler, worker, worker, worker, scheduler]
  const plan = fleet({ producer: { jobs: 60 }, workers })
  await using campaign = await Campaign.start(plan)
  // The first one is elected.
  const [elected, first] = campaign.workers
  await first!.said('in-handler')
  await sleep(new Chance().between(0, 2_000))
  await campaign.kill(elected!)
  await campaign.rest()
  const { history, startsKept } = await campaign.verdict({ lag: NEWS })
  const count = (type: string) => history.filter((event) => event.type === type).length
  // A scheduler runs jobs, too: the one in its handler when it is killed starts again elsewhere.
  expect(startsKept()).toBeLessThanOrEqual(plan.keys.length * 120 + count('fault'))
  for (const key of plan.keys) expect(startsKept(key)).toBeGreaterThanOrEqual(120)
})
