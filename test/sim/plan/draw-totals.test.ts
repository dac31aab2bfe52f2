import { expect, test } from 'vitest'
import { isWithin } from '../../../src/conformance/totals.ts'
import { parsedLimitOf } from '../actors/limit-of.ts'
import { drawPlan } from './draw.ts'
import { totalsAbove } from './total-plan.ts'

const PLANS = Array.from({ length: 600 }, (_, n) => drawPlan(n + 1))
const WITH_TOTALS = PLANS.filter(({ totals = [] }) => totals.length > 0)

test('one run in four has families, with one total or two above each of several children', () => {
  const share = WITH_TOTALS.length / PLANS.length
  expect(share).toBeGreaterThan(0.2)
  expect(share).toBeLessThan(0.3)
  const depths = WITH_TOTALS.flatMap((plan) => plan.keys.map(({ key }) => totalsAbove(plan, key).length))
  expect(new Set(depths)).toEqual(new Set([0, 1, 2]))
  for (const { keys } of WITH_TOTALS) {
    expect(keys.filter(({ key }) => isWithin(key, 'f/')).length).toBeGreaterThan(1)
  }
})

test('every total that is drawn, and every change of one, is one that a shaper takes; quotas and places are on the outermost', () => {
  for (const { totals = [], actions } of WITH_TOTALS) {
    const changes = actions.flatMap((action) => (action.do === 'limit' ? [action] : []))
    for (const limit of [...totals, ...changes]) expect(() => parsedLimitOf(limit)).not.toThrow()
  }
  const all = WITH_TOTALS.flatMap(({ totals = [] }) => totals)
  const hasQuotas = all.filter(({ quotas }) => quotas !== undefined)
  const hasPlaces = all.filter(({ concurrency }) => concurrency !== undefined)
  expect(hasQuotas.length).toBeGreaterThan(20)
  expect(hasPlaces.length).toBeGreaterThan(20)
  expect([...hasQuotas, ...hasPlaces].filter(({ key }) => key.split('/').length > 2)).toEqual([])
})

test('the operator freezes, pauses and changes families, and takes totals away', () => {
  const done = WITH_TOTALS.flatMap(({ actions }) =>
    actions.flatMap((action) => ('key' in action && action.key.endsWith('/') ? [action.do] : [])),
  )
  expect(new Set(done)).toEqual(new Set(['freeze', 'unfreeze', 'pause', 'limit', 'unset']))
})

test('in some runs a total is set while its family is at work, and nothing is done with it before', () => {
  const late = WITH_TOTALS.flatMap(({ totals = [], actions }) =>
    totals.filter(({ comesLate }) => comesLate).map(({ key }) => ({ key, actions })),
  )
  expect(late.length).toBeGreaterThan(10)
  for (const { key, actions } of late) {
    const own = actions.filter((action) => 'key' in action && action.key === key)
    expect(own.some(({ do: what }) => what === 'limit')).toBe(true)
    const [first] = own
    expect(own.every(({ at }) => at >= first!.at)).toBe(true)
    expect(own.filter(({ at }) => at === first!.at).some(({ do: what }) => what === 'limit')).toBe(true)
  }
})
