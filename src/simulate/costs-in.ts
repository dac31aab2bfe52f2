import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import { parseCostsText } from '../line/costs-text.ts'
import { readCosts } from '../line/settle.ts'
import { COSTS, DEPARTURE_NAMES } from './departures-csv.ts'
import type { Row } from './read-rows.ts'
import type { UnreadNames } from './unread-names.ts'

/**
 * Returns what a row counts in each of `units` that it names: in `costs`, as `tokens=1200,images=2` or an object, which is checked
 * here, or in a column, or property, of the unit's name, which is to be checked.
 *
 * @throws InvalidInputError where `costs` has something else, or a unit that stands beside it, too
 */
export function costsIn(row: Row, units: readonly string[], unread?: UnreadNames): Record<string, unknown> {
  const together = row.has(COSTS) ? readTogether(row) : {}
  unread?.seeCosts(together)
  const named = units.flatMap((unit): [string, unknown][] => {
    const amount = together[unit]
    if (DEPARTURE_NAMES.has(unit) || !row.has(unit)) return amount === undefined ? [] : [[unit, amount]]
    if (amount === undefined) return [[unit, row.number(unit)]]
    throw row.blame(COSTS, `expected ${unit} in ${COSTS} or in a column of its own, got: both`)
  })
  return Object.fromEntries(named)
}

function readTogether(row: Row): Costs {
  const given = row.value(COSTS)
  try {
    return readCosts(typeof given === 'string' ? parseCostsText(given) : given, 'arrival') ?? {}
  } catch (error) {
    throw row.blame(COSTS, toError(error).message)
  }
}
