import { isWithin } from '../../../src/conformance/totals.ts'
import type { Plan } from './plan.ts'

/** The totals of a plan to which the key belongs, the outermost first. */
export function totalsAbove({ totals = [] }: Pick<Plan, 'totals'>, key: string): string[] {
  return totals
    .map((total) => total.key)
    .filter((path) => isWithin(key, path))
    .sort((a, b) => a.length - b.length)
}
