import { expect, test } from 'vitest'
import { shardOf } from '../../src/redis/scripts/keys.ts'
import { keyLimitsOf, totalsOf } from '../support/campaign/limits-of.ts'
import { drawPlan } from '../support/campaign/seeded/draw-plan.ts'

const MEANS = { hasClockShim: true, hasStrace: true }
const PLANS = Array.from({ length: 1_000 }, (_, seed) => drawPlan(seed, MEANS))

test('what is done to a producer comes while it still has questions, however fast the machine is', () => {
  const met = PLANS.flatMap(({ seed, faults, producers }) =>
    faults.flatMap((fault) => {
      if (!('role' in fault) || fault.role !== 'producer') return []
      const { jobs, gapMs = 0 } = producers[fault.nth]!
      return [{ seed, isMet: fault.atMs < jobs * gapMs }]
    }),
  )
  expect(met.length).toBeGreaterThan(50)
  expect(met.filter(({ isMet }) => !isMet)).toEqual([])
})

test('a point of a producer is passed as often as it is to be reached', () => {
  const armed = PLANS.flatMap(({ seed, armed, producers }) =>
    armed
      .filter(({ role }) => role === 'producer')
      .map(({ nth, point }) => {
        const { jobs, gapMs } = producers[nth]!
        return { seed, isReached: gapMs !== undefined && point.count <= jobs }
      }),
  )
  expect(armed.length).toBeGreaterThan(10)
  expect(armed.filter(({ isReached }) => !isReached)).toEqual([])
})

test('producers to which nothing is done still ask for all their jobs at once', () => {
  const bursts = PLANS.filter(({ producers }) => producers.some(({ gapMs }) => gapMs === undefined))
  expect(bursts.length).toBeGreaterThan(100)
})

test('about half of the plans have sets, and the others the limits, jobs and handlers that they had', () => {
  const isSet = ({ limit }: (typeof PLANS)[number]) => /at once|\/\ds/.test(limit)
  const sets = PLANS.filter(isSet)
  expect(sets.length).toBeGreaterThan(400)
  expect(sets.length).toBeLessThan(600)
  for (const part of [/at once/, /tokens/, /, \d+\/\ds, .*at once/])
    expect(sets.filter(({ limit }) => part.test(limit)).length).toBeGreaterThan(100)
  for (const plan of PLANS) {
    const names = [...plan.producers.map(({ costs }) => costs), ...plan.workers.map(({ settles }) => settles)]
    // A unit that no quota counts is refused.
    if (names.every((named) => named === undefined)) continue
    const counted = [...keyLimitsOf(plan).values()].map(({ quotas }) =>
      quotas.some(({ unit }) => unit === 'tokens'),
    )
    expect(counted).not.toContain(false)
  }
})

const hasTotals = (plan: (typeof PLANS)[number]) => totalsOf(plan).size > 0

test('about a third of the plans have totals, in part nested, with quotas, places, weights and a flood', () => {
  const plans = PLANS.filter(hasTotals)
  expect(plans.length).toBeGreaterThan(280)
  expect(plans.length).toBeLessThan(390)
  const having = (test: (plan: (typeof PLANS)[number]) => boolean) => plans.filter(test).length
  const totalOf = (plan: (typeof PLANS)[number]) => totalsOf(plan).get('f/')!
  const weights = (plan: (typeof PLANS)[number]) =>
    [...keyLimitsOf(plan).values()].map(({ weight }) => weight)
  expect(having((plan) => totalsOf(plan).size === 2)).toBeGreaterThan(80)
  expect(having((plan) => totalOf(plan).quotas.length > 0)).toBeGreaterThan(60)
  expect(having((plan) => totalOf(plan).concurrency < 9)).toBeGreaterThan(60)
  expect(having((plan) => new Set(weights(plan)).size > 1)).toBeGreaterThan(100)
  expect(having(({ producers }) => producers.length === 3)).toBeGreaterThan(100)
  expect(having(({ keys }) => keys.includes('f'))).toBeGreaterThan(10)
  expect(having(({ keys }) => keys.includes('c'))).toBeGreaterThan(10)
  for (const { keys } of plans)
    expect(keys.filter((key) => key.startsWith('f')).length).toBeGreaterThanOrEqual(2)
})

test('a plan without a total has the keys that it had, and one with a total the same work, workers and faults', () => {
  for (const plan of PLANS) {
    if (!hasTotals(plan)) expect(['a', 'b/x', 'c'].slice(0, plan.keys.length)).toEqual(plan.keys)
    expect(plan.producers.slice(0, 2).map(({ name, keys }) => [name, keys])).toEqual([
      ['p', undefined],
      ['q', undefined],
    ])
  }
})

test('where a shard moves, the family is in it', () => {
  const moved = PLANS.filter(hasTotals).flatMap(({ store, faults }) =>
    faults.flatMap((fault) =>
      fault.do === 'reshard' && store.kind === 'cluster'
        ? [{ shards: store.shards, shard: fault.shard, family: shardOf('f/a', store.shards) }]
        : [],
    ),
  )
  expect(moved.filter(({ shards }) => shards > 1).length).toBeGreaterThan(5)
  for (const { shard, family } of moved) expect(shard).toBe(family)
})

test('fast keys, whose workers start jobs one after the other without asking, are drawn', () => {
  const isFast = (plan: (typeof PLANS)[number]) =>
    [...keyLimitsOf(plan)].some(
      ([key, { interval, quotas, concurrency }]) =>
        interval <= 25_000 &&
        quotas.length === 0 &&
        concurrency > 9 &&
        !(hasTotals(plan) && key.startsWith('f')),
    )
  expect(PLANS.filter(isFast).length).toBeGreaterThan(80)
})
