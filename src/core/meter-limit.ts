import { quote } from './describe.ts'
import { InvalidLimitError } from './errors.ts'
import { isTotal } from './key.ts'
import { type Limit, type LimitInput, parseCountedLimit, parseMeterLimit } from './limit.ts'
import { isQuotaText } from './quota-input.ts'
import { formatRate } from './rate.ts'

const FIELDS: readonly string[] = ['capacity', 'rate']
const COUNTED_FIELDS: readonly string[] = [...FIELDS, 'quotas']

/**
 * Parses a limit of a capacity and a rate, for what starts nothing. The parts that only a queue can keep are rejected.
 *
 * @throws InvalidLimitError
 */
export function parseOwnMeterLimit(input: LimitInput, pattern = '*'): Limit {
  checkNoTotal(pattern)
  const limit = parseMeterLimit(input)
  const more = furtherParts(input, FIELDS)[0]
  if (more === undefined) return limit
  throw notMetered("a capacity and a rate, such as '100, 10/s'", more)
}

/**
 * Parses a limit that was written for a meter: a capacity, a rate and quotas. As above.
 *
 * @throws InvalidLimitError
 */
export function parseOwnCountedLimit(input: LimitInput, pattern = '*'): Limit {
  checkNoTotal(pattern)
  const limit = parseCountedLimit(input)
  const more = furtherParts(input, COUNTED_FIELDS).find((part) => !isQuotaText(part))
  if (more === undefined) return limit
  throw notMetered("a capacity, a rate and quotas, such as '100, 10/s, 2000/day'", more)
}

function checkNoTotal(pattern: string): void {
  if (!isTotal(pattern)) return
  throw new InvalidLimitError(
    `expected a pattern of keys, got that of a total: ${quote(pattern)}; a meter counts each key alone`,
  )
}

/** What was written beside capacity and rate: the parts of a text, or the fields that are not known. */
function furtherParts(input: LimitInput, fields: readonly string[]): string[] {
  if (typeof input !== 'string') return Object.keys(input).filter((field) => !fields.includes(field))
  return input
    .split(',')
    .slice(2)
    .map((part) => part.trim())
}

function notMetered(expected: string, more: string): InvalidLimitError {
  return new InvalidLimitError(
    `expected the limit of a meter to be ${expected}, got: ${quote(more)} ` +
      'as well; a meter starts nothing, so there is nothing to space',
  )
}

/** Formats a limit so that `parseOwnMeterLimit` returns the same one. */
export function formatMeterLimit({ capacity, rate }: Limit): string {
  return `${capacity}, ${formatRate(rate)}`
}
