import { isWithin } from '../../../src/conformance/totals.ts'
import type { Plan, TotalPlan } from './plan.ts'

/** The totals of a plan to which the key belongs, the outermost first. */
export function totalsAbove({ totals = [] }: Pick<Plan, 'totals'>, key: string): string[] {
  return totals
    .map((total) => total.key)
    .filter((path) => isWithin(key, path))
    .sort((a, b) => a.length - b.length)
}

/** The totals that are in force from the start. */
export function totalsAtFirst({ totals = [] }: Pick<Plan, 'totals'>): readonly TotalPlan[] {
  return totals.filter(({ comesLate }) => comesLate === undefined)
}

/** The paths of totals that some of the time are not there: they come late, or go. */
export function passingTotals({
  totals = [],
  actions,
}: Pick<Plan, 'totals' | 'actions'>): ReadonlySet<string> {
  const late = totals.flatMap(({ key, comesLate }) => (comesLate === undefined ? [] : [key]))
  return new Set([...late, ...goingTotals({ actions })])
}

/** Those that go. */
export function goingTotals({ actions }: Pick<Plan, 'actions'>): ReadonlySet<string> {
  return new Set(actions.flatMap((action) => (action.do === 'unset' ? [action.key] : [])))
}
