import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { type Counter, fixedWindow, slidingWindow, tokenBucket } from '../support/strict-counters.ts'

const SECOND = 1_000_000
const PLACES = 4
const KEY = 'a'
const LEASE_MS = 5_000

/** Jobs of a second each, more than there are places for. */
const busy = (jobs: number) =>
  fleet({
    limit: `500, 50/s, ${PLACES} at once`,
    keys: [KEY],
    producer: { jobs },
    worker: { takesMs: 1_000, concurrency: PLACES, leaseMs: LEASE_MS, tellsStarts: true },
  })

// A place that is lost counts as taken when all have ended, which breaks L9. Whether four ever run at once hangs on how busy the
// machine is.
describe('at most four run at once, and no place is lost', () => {
  test('when workers are killed in their handlers', async () => {
    const plan = busy(40)
    await using campaign = await Campaign.start(plan)
    const chance = new Chance()
    for (let kill = 0; kill < 2; kill++) {
      const victim = chance.pick(campaign.workers.filter(({ isAlive }) => isAlive))
      await victim.said('in-handler', { from: victim.spoken })
      await sleep(chance.between(0, 900))
      await campaign.kill(victim)
      await campaign.addWorker(plan.workers[0]!)
      await sleep(chance.between(200, 2_000))
    }
    await campaign.rest()
    const { history, startsKept } = await campaign.verdict({ lag: NEWS })
    const faults = history.filter(({ type }) => type === 'fault').length
    expect(faults).toBeGreaterThanOrEqual(1)
    expect(startsKept()).toBeLessThanOrEqual(80 + faults)
  })

  test('when workers stand still, for a moment and for longer than their leases', async () => {
    await using campaign = await Campaign.start(busy(40))
    const chance = new Chance()
    for (const forMs of [50, 400, 1_500, 7_000]) {
      const victim = chance.pick(campaign.workers)
      await victim.said('in-handler', { from: victim.spoken })
      await campaign.stop(victim, forMs)
      await sleep(chance.between(0, 300))
    }
    await campaign.rest()
    const { history } = await campaign.verdict({ lag: NEWS })
    expect(history.filter(({ type }) => type === 'end')).toHaveLength(80)
  })
})

test('another party that counts calls and tokens by rules of its own refuses nothing of what three workers send', async () => {
  const calls = 40
  const tokens = 90
  const length = 2 * SECOND
  // The pace alone would let five times as many calls start.
  const plan = fleet({
    limit: `500, 100/s, ${calls}/2s, ${tokens} tokens/2s 2 each`,
    keys: [KEY, 'b'],
    // Of "b" the calls bind, of "a" the tokens.
    limits: { b: `500, 100/s, ${calls}/2s, 1000 tokens/2s 2 each` },
    producer: { jobs: 60, costs: { unit: 'tokens', most: 4 } },
    worker: { takesMs: 5 },
  })
  await using campaign = await Campaign.start(plan)
  await campaign.rest()
  const { history } = await campaign.verdict({ lag: NEWS })
  const phases = [0, 0.13, 0.5, 0.77].map((part) => part * length)
  for (const key of plan.keys) {
    const starts = history.flatMap((event) => (event.type === 'start' && event.key === key ? [event] : []))
    expect(starts).toHaveLength(120)
    const refused = (counter: Counter, unitsOf: (start: (typeof starts)[number]) => number) =>
      starts.filter((start) => !counter.pass(start.at, unitsOf(start))).length
    for (const counterOf of [
      ...phases.map((phase) => (amount: number) => fixedWindow(amount, length, phase)),
      (amount: number) => slidingWindow(amount, length),
      (amount: number) => tokenBucket(amount, length),
    ]) {
      expect(refused(counterOf(calls), () => 1)).toBe(0)
      expect(refused(counterOf(key === 'a' ? tokens : 1_000), ({ costs }) => costs?.['tokens'] ?? 2)).toBe(0)
    }
    // A counter that allows one call less than came in any window does refuse.
    const within = (until: number) => starts.filter(({ at }) => at > until - length && at <= until).length
    const most = Math.max(...starts.map(({ at }) => within(at)))
    expect(refused(slidingWindow(most - 1, length), () => 1)).toBeGreaterThan(0)
  }
})

test('what handlers settle counts once, and never for another start', async () => {
  const unit = { unit: 'tokens', most: 8 }
  const plan = fleet({
    limit: '500, 50/s, 60 tokens/2s 4 each',
    keys: [KEY],
    producer: { jobs: 30, costs: unit, attempts: 2, backoffMs: 20 },
    worker: { takesMs: 20, failFirst: 1, settles: unit },
  })
  await using campaign = await Campaign.start(plan)
  await campaign.rest()
  const { history } = await campaign.verdict({ lag: NEWS })
  // A retry pays and settles again.
  const settled = history.flatMap((event) => (event.type === 'settle' ? [`${event.id} ${event.fence}`] : []))
  expect(history.filter(({ type }) => type === 'start')).toHaveLength(120)
  expect(settled).toHaveLength(96)
  expect(new Set(settled).size).toBe(96)
})
