import { describe } from '../core/describe.ts'
import { SECOND } from '../core/duration.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import type { Arrival } from './arrival.ts'

/** The largest offset at which a double still resolves microseconds. */
const LATEST_S = 9e9
const LARGEST_COST = 1e9

export type ArrivalField = 'offset_s' | 'key' | 'cost'

/** The fields of an arrival as in the input file. */
export type ArrivalValues = Readonly<Record<ArrivalField, unknown>>

/** Creates the error for a field. */
export type Blame = (field: ArrivalField, message: string) => Error

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
    if (typeof cost !== 'number' || !Number.isInteger(cost) || cost < 1 || cost > LARGEST_COST) {
      throw blame(
        'cost',
        `expected cost to be a whole number from 1 to ${LARGEST_COST}, got: ${describe(cost)}`,
      )
    }
    const at = offset * SECOND
    if (at < this.#last) {
      const before = this.#last / SECOND
      throw blame(
        'offset_s',
        `expected arrivals in the order of time, got: ${offset} after ${before}; sort them`,
      )
    }
    this.#last = at
    return { at, key: checked(key, blame), cost }
  }
}

function checked(key: unknown, blame: Blame): string {
  try {
    checkKey(key)
    return key
  } catch (error) {
    if (isVelvetRopeError(error)) throw blame('key', error.message)
    throw error
  }
}
