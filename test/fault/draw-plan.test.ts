import { expect, test } from 'vitest'
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
  for (const { producers, workers, limit, limits } of PLANS) {
    const names = [...producers.map(({ costs }) => costs), ...workers.map(({ settles }) => settles)]
    // A unit that no quota counts is refused.
    if (names.some((named) => named !== undefined))
      expect([limit, ...Object.values(limits)].filter((text) => !text.includes('tokens'))).toEqual([])
  }
})
