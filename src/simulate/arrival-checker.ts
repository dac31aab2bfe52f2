import { describe } from '../core/describe.ts'
import { SECOND } from '../core/duration.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { checkBucketKey } from '../core/key.ts'
import type { Costs } from '../core/usage.ts'
import type { Arrival } from './arrival.ts'

/** The largest offset at which a double still resolves microseconds. */
const LATEST_S = 9e9
const LARGEST_COST = 1e9

export type ArrivalField = 'offset_s' | 'key' | 'cost'

/** The fields of an arrival as in the input file. */
export type ArrivalValues = Readonly<Record<ArrivalField, unknown>> & {
  /** By unit; undefined where the arrival does not name it. */
  readonly costs?: Readonly<Record<string, unknown>>
}

/** Creates the error for a field. */
export type Blame = (field: string, message: string) => Error

/**
 * Validates arrivals of any format. They must be in the order of time: sorting would need all of them in memory, and
 * unordered input is usually a mistake.
 */
export class ArrivalChecker {
  #last = 0

  check(values: ArrivalValues, blame: Blame): Arrival {
    const { offset_s: offset, key, cost } = values
    if (typeof offset !== 'number' || !(offset >= 0 && offset <= LATEST_S)) {
      const expected = `a number of seconds from 0 to ${LATEST_S}`
      throw blame('offset_s', `expected offset_s to be ${expected}, got: ${describe(offset)}`)
    }
    checkCount('cost', cost, 1, blame)
    const at = offset * SECOND
    if (at < this.#last) {
      const before = this.#last / SECOND
      throw blame(
        'offset_s',
        `expected arrivals in the order of time, got: ${offset} after ${before}; sort them`,
      )
    }
    this.#last = at
    const named = checkedCosts(values.costs, blame)
    return { at, key: checked(key, blame), cost, ...(named && { costs: named }) }
  }
}

/** Checks a cost, or what one really was. */
export function checkCount(
  field: string,
  count: unknown,
  least: number,
  blame: Blame,
): asserts count is number {
  if (typeof count === 'number' && Number.isInteger(count) && count >= least && count <= LARGEST_COST) return
  throw blame(
    field,
    `expected ${field} to be a whole number from ${least} to ${LARGEST_COST}, got: ${describe(count)}`,
  )
}

function checkedCosts(costs: ArrivalValues['costs'] = {}, blame: Blame): Costs | undefined {
  const named = Object.entries(costs).flatMap(([unit, cost]): [string, number][] => {
    if (cost === undefined) return []
    checkCount(unit, cost, 1, blame)
    return [[unit, cost]]
  })
  return named.length === 0 ? undefined : Object.fromEntries(named)
}

function checked(key: unknown, blame: Blame): string {
  try {
    checkBucketKey(key)
    return key
  } catch (error) {
    if (isVelvetRopeError(error)) throw blame('key', error.message)
    throw error
  }
}
