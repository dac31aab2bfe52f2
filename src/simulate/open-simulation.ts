import { isTotal } from '../core/key.ts'
import type { RuleBook } from '../core/rule-book.ts'
import { FamilySimulation } from './family-simulation.ts'
import { type OnOutcome, type SimulatedLines, Simulation } from './simulation.ts'

/**
 * Under limits without totals each key is by itself, and says more of what held it back.
 *
 * @param handlerTime how long a handler holds its place, in microseconds
 */
export function openSimulation(limits: RuleBook, handlerTime: number, onOutcome?: OnOutcome): SimulatedLines {
  const Lines = hasTotals(limits) ? FamilySimulation : Simulation
  return new Lines(limits, handlerTime, onOutcome)
}

function hasTotals(limits: RuleBook): boolean {
  return limits.list().some(({ pattern }) => isTotal(pattern))
}
