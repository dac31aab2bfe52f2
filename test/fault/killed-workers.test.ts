import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { longestStandstill } from '../support/campaign/lateness.ts'

test('workers killed in their handlers lose no job; each start too many has its crash', async () => {
  const plan = fleet({ producer: { jobs: 60 }, worker: { takesMs: 400, tellsStarts: true } })
  await using campaign = await Campaign.start(plan)
  for (const victim of campaign.workers.slice(0, 2)) {
    await victim.said('in-handler', { from: victim.spoken })
    await campaign.kill(victim)
    await campaign.addWorker(plan.workers[0]!)
    await sleep(1_000)
  }
  await campaign.rest(40_000)
  const { history } = await campaign.verdict({ lag: NEWS })
  const count = (type: string) => history.filter((event) => event.type === type).length
  expect(count('fault')).toBeGreaterThanOrEqual(2)
  expect(count('start')).toBeLessThanOrEqual(480 + count('fault'))
  expect(count('end')).toBe(480)
})

test('when the elected scheduler is killed another takes over within two seconds', async () => {
  const scheduler = { concurrency: 1, leaseMs: 1_500, scheduler: true }
  const worker = { concurrency: 50, leaseMs: 1_500, takesMs: 20, scheduler: false, tellsStarts: true }
  const workers = [scheduler, worker, worker, worker, scheduler]
  const plan = fleet({ producer: { jobs: 60 }, workers })
  await using campaign = await Campaign.start(plan)
  // The first one is elected.
  const [elected, first] = campaign.workers
  await first!.said('in-handler')
  await sleep(1_000)
  await campaign.kill(elected!)
  await campaign.rest(40_000)
  const { startsOf } = await campaign.verdict({ lag: NEWS })
  expect(longestStandstill(plan.keys.flatMap(startsOf))).toBeLessThan(2_000)
})
