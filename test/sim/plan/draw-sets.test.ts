import { expect, test } from 'vitest'
import { parsedLimitOf } from '../actors/limit-of.ts'
import { periodEndOf } from './change-sets.ts'
import { drawPlan } from './draw.ts'
import type { Plan } from './plan.ts'
import { isSet, type QuotaPlan, unitsIn } from './set-plan.ts'

const PLANS = Array.from({ length: 600 }, (_, n) => drawPlan(n + 1))
const WITH_SETS = PLANS.filter(({ keys }) => keys.some(isSet))

function isOfCalendar({ window }: QuotaPlan): boolean {
  return typeof window !== 'number'
}

function shareOf(plans: readonly Plan[], test: (plan: Plan) => boolean): number {
  return plans.filter(test).length / plans.length
}

test('two runs in five have limits that are sets, and about half of those have places, tokens, or both', () => {
  const share = WITH_SETS.length / PLANS.length
  expect(share).toBeGreaterThan(0.35)
  expect(share).toBeLessThan(0.48)
  const hasPlaces = ({ keys }: Plan) => keys.some(({ concurrency }) => concurrency !== undefined)
  const hasTokens = ({ keys }: Plan) =>
    keys.some(({ quotas = [] }) => quotas.some(({ unit }) => unit !== undefined))
  expect(shareOf(WITH_SETS, hasPlaces)).toBeGreaterThan(0.4)
  expect(shareOf(WITH_SETS, hasTokens)).toBeGreaterThan(0.3)
})

test('every limit that is drawn, and every change of one, is one that a shaper takes', () => {
  for (const { keys, actions } of PLANS) {
    const changes = actions.flatMap((action) => (action.do === 'limit' ? [action] : []))
    for (const limit of [...keys, ...changes]) expect(() => parsedLimitOf(limit)).not.toThrow()
  }
})

test('most quotas are smaller than what is asked for', () => {
  const quotas = WITH_SETS.flatMap(({ keys, jobs, turns }) =>
    keys.flatMap(({ key, quotas = [] }) =>
      quotas.map((quota) => {
        const own = [...jobs, ...turns].filter((item) => item.key === key)
        return own.reduce((sum, item) => sum + unitsIn(quota, item), 0) > quota.amount
      }),
    ),
  )
  expect(quotas.filter(Boolean).length / quotas.length).toBeGreaterThan(0.5)
})

test('a quota of a calendar meets the end of its period, goes soon after, and nothing can bring it back', () => {
  const calendars = PLANS.flatMap((plan) => {
    const end = periodEndOf(plan)
    return end === undefined ? [] : [{ ...plan, end }]
  })
  expect(calendars.length).toBeGreaterThan(8)
  for (const { end, keys, actions, faults } of calendars) {
    expect(end).toBeGreaterThanOrEqual(300)
    expect(end).toBeLessThanOrEqual(2_500)
    const calendar = keys.filter(({ quotas = [] }) => quotas.some(isOfCalendar))
    for (const { key } of calendar) {
      const changes = actions.flatMap((action) =>
        action.do === 'limit' && action.key === key ? [action] : [],
      )
      const last = changes.at(-1)!
      expect(last.at).toBeGreaterThan(end)
      expect(last.quotas?.filter(isOfCalendar)).toEqual([])
    }
    expect(faults.filter(({ kind }) => kind === 'step')).toEqual([])
    expect(faults.filter((fault) => fault.kind === 'restart' && fault.keeps !== 'all')).toEqual([])
  }
})
