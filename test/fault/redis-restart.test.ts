import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'

/** A moment that a patient producer may sit out, and an outage that it must report; least and most, milliseconds. */
const OUTAGES = [
  [100, 900],
  [2_300, 4_000],
] as const
/** While Redis is away, and until all have found it again, there is no news. */
const NO_NEWS = NEWS + 5_000_000

test('a Redis that is killed under load and comes back with its file has lost no job', async () => {
  const plan = fleet({
    limit: '100, 20/s',
    producer: { jobs: 75, gapMs: 100, comesBack: true },
    worker: { leaseMs: 6_000, tellsStarts: true },
    // With everysec, Redis answers before it writes when the disk is busy, and loses that when it is killed.
    redis: { port: 'free', appendonly: 'yes', appendfsync: 'always' },
  })
  await using campaign = await Campaign.start(plan)
  const [worker] = campaign.workers
  const chance = new Chance()
  for (const [least, most] of OUTAGES) {
    await worker!.said('in-handler', { from: worker!.spoken })
    await sleep(chance.between(100, 1_500))
    await campaign.redis.kill()
    await sleep(chance.between(least, most))
    await campaign.redis.restart()
  }
  await campaign.rest()
  const { startsKept, unavailable } = await campaign.verdict({ lag: NO_NEWS })
  for (const key of plan.keys) expect(startsKept(key)).toBe(150)
  expect(unavailable.length).toBeGreaterThan(0)
  expect(unavailable.filter(({ isLate }) => isLate)).toEqual([])
})
