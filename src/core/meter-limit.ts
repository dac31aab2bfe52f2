import { quote } from './describe.ts'
import { InvalidLimitError } from './errors.ts'
import { type Limit, type LimitInput, parseMeterLimit } from './limit.ts'
import { formatRate } from './rate.ts'

const FIELDS: readonly string[] = ['capacity', 'rate']

/**
 * Parses a limit written for a meter: a capacity and a rate. The parts that only a queue can keep are rejected.
 *
 * @throws InvalidLimitError
 */
export function parseOwnMeterLimit(input: LimitInput): Limit {
  const limit = parseMeterLimit(input)
  const more =
    typeof input === 'string'
      ? input.split(',')[2]?.trim()
      : Object.keys(input).find((field) => !FIELDS.includes(field))
  if (more === undefined) return limit
  throw new InvalidLimitError(
    `expected the limit of a meter to be a capacity and a rate, such as '100, 10/s', got: ${quote(more)} ` +
      'as well; a meter starts nothing, so there is nothing to space',
  )
}

/** Formats a limit so that `parseOwnMeterLimit` returns the same one. */
export function formatMeterLimit({ capacity, rate }: Limit): string {
  return `${capacity}, ${formatRate(rate)}`
}
