import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { HistoryEvent } from '../../src/testing.ts'
import { Campaign } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { fleet, NEWS } from '../support/campaign/fleet.ts'
import { hostNow } from '../support/campaign/host-time.ts'

const SECOND = 1_000_000
const LEASE_MS = 5_000
const LEASE = LEASE_MS * 1_000
const TWO_LEASES = 2 * LEASE
const PER_SECOND = 40
/**
 * A lease, and three times as long for what was held to be found and handed over again: as long as a job may take that a dead worker
 * held (README, recovery). What others hold goes on, so a family mostly stands still for far less.
 */
const LONGEST_STANDSTILL = 20 * SECOND
/** Of the rate before the fault, at most that of the total: a busy machine starts late, and what is late is not made up for. */
const SHARE_OF_RATE = 0.6
const DRIP = 'f/drip'

/** From one that has all of its work at once and no share for it, to one that asks for a job at a time. */
const KEYS = [
  { name: 'p', keys: ['f/flood'], jobs: 320 },
  { name: 'q', keys: ['f/even'], jobs: 220 },
  { name: 'r', keys: ['f/deep'], jobs: 420 },
  { name: 's', keys: [DRIP], jobs: 180, gapMs: 150 },
]
const JOBS = KEYS.reduce((sum, { jobs }) => sum + jobs, 0)

/** Under it all children have work until two leases after a fault are over. */
const plan = fleet({
  limit: '2000, 100/s',
  limits: { 'f/': `4000, ${PER_SECOND}/s`, 'f/deep': '2000, 100/s, weight 2' },
  keys: KEYS.flatMap(({ keys }) => keys),
  worker: { concurrency: 100, leaseMs: LEASE_MS, takesMs: 5, tellsStarts: true },
  redis: { port: 'free', appendonly: 'yes', appendfsync: 'always' },
})

type Strike = (campaign: Campaign, chance: Chance) => Promise<void>

test.each<[string, number, Strike]>([
  [
    'a worker is killed',
    NEWS,
    async (campaign, chance) => {
      await campaign.kill(chance.pick(campaign.workers))
    },
  ],
  [
    'a worker stands still for longer than its leases',
    NEWS,
    async (campaign, chance) => {
      await campaign.stop(chance.pick(campaign.workers), chance.between(6_500, 8_000))
    },
  ],
  [
    'Redis is killed and comes back',
    NEWS + 5 * SECOND,
    async (campaign, chance) => {
      await campaign.redis.kill()
      await sleep(chance.between(200, 2_500))
      await campaign.redis.restart()
    },
  ],
])('a total is never exceeded, goes on, and is shared fairly when %s', async (_, lag, strike) => {
  await using campaign = await Campaign.start({ ...plan, producers: KEYS })
  const chance = new Chance()
  await campaign.workers[0]!.said('in-handler')
  await sleep(chance.between(2_500, 4_000))
  const struckAt = hostNow()
  await strike(campaign, chance)
  const overAt = hostNow()
  await campaign.rest()
  // The laws of the total are judged by all starts of the family, as handlers read the clock.
  const { history, unfairWithin, standstillWithin } = await campaign.verdict({ lag })
  expect(history.filter(({ type }) => type === 'end')).toHaveLength(JOBS)

  const starts = history.filter((event) => event.type === 'start')
  const stood = starts.slice(1).map(({ at }, index) => at - Math.max(starts[index]!.at, struckAt))
  expect(Math.max(...stood) - (overAt - struckAt), 'how long the family stood still').toBeLessThan(
    LONGEST_STANDSTILL,
  )

  // The family has work until the last of its jobs, and so much that no child alone decides its rate until the last second.
  const backAt = overAt + LEASE
  const lastAt = starts.at(-PER_SECOND)!.at
  const started = starts.filter(({ at }) => at > backAt && at <= lastAt).length
  const free = (lastAt - backAt - standstillWithin(backAt, lastAt)) / SECOND
  const before = starts.filter(({ at }) => at <= struckAt).length / ((struckAt - starts[0]!.at) / SECOND)
  expect(
    started,
    `starts in ${free} s, from a lease after the fault on; ${before} a second before it`,
  ).toBeGreaterThan(SHARE_OF_RATE * Math.min(PER_SECOND, before) * free - PER_SECOND)

  expect(unfairWithin(0, struckAt)).toEqual([])
  const never = Number.POSITIVE_INFINITY
  const settledAt = overAt + TWO_LEASES
  expect(unfairWithin(settledAt, never)).toEqual([])
  const others = turnsOf(DRIP, history, starts).flatMap((turn) =>
    turn.since > settledAt ? [turn.others] : [],
  )
  expect(others.length).toBeGreaterThan(10)
  // Two seconds of the total, and as long as a process was held up.
  const most = PER_SECOND * (2 + standstillWithin(settledAt, never) / SECOND)
  expect(Math.max(...others), 'starts of others while a job was the next of its key').toBeLessThan(most)
})

type StartEvent = Extract<HistoryEvent, { type: 'start' }>

/** Of each start of a key: since when its job was the next of the line, and how many of the family came before it. */
function turnsOf(key: string, history: readonly HistoryEvent[], starts: readonly StartEvent[]) {
  const admitted = new Map(
    history.flatMap((event) => (event.type === 'answer' && event.accepted ? [[event.id, event.at]] : [])),
  )
  let last = 0
  return starts
    .filter((start) => start.key === key)
    .map(({ id, at }) => {
      const since = Math.max(last, admitted.get(id) ?? 0)
      last = at
      return { since, others: starts.filter((other) => other.at > since && other.at < at).length }
    })
}
