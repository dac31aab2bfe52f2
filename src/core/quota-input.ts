import { describe, quote } from './describe.ts'
import { checkLength, DAY, formatDuration, HOUR, MINUTE, SECOND } from './duration.ts'
import { InvalidLimitError } from './errors.ts'
import { nearest } from './options.ts'
import { isRolling, type Quota } from './quota.ts'
import { NOTHING_STARTS } from './rate.ts'
import { checkUnit, isReserved, isWordForJobs } from './unit.ts'
import { readWindow } from './window-input.ts'

/**
 * A quota as text, `'2000/day'`, `'90000 tokens/minute 1200 each'` or `'10000 per day in America/Los_Angeles'`; or as an object with
 * the same parts.
 */
export type QuotaInput =
  | string
  | {
      /** Units that may start in one window; a whole number above 0. */
      readonly amount: number
      /** The window: a duration, which rolls; with `in`, `'hour'`, `'day'` or `'week'`. */
      readonly per: string
      /** What is counted, such as `'tokens'`. Default: cost units. */
      readonly unit?: string
      /** What a job counts that does not name the unit. Required with one. */
      readonly each?: number
      /** A time zone of the IANA database: the quota is of its calendar. Default: the window rolls. */
      readonly in?: string
    }

type QuotaParts = Exclude<QuotaInput, string>

export const LARGEST_AMOUNT = 1e12
/** As much as one job may count of a unit: the sum of a long line of them must stay a number that is exact. */
export const LARGEST_COST = 1e9
/** What to do about more. */
export const LARGER_UNIT = 'count in a larger unit, such as kilobytes for bytes'
const FIELDS = ['amount', 'per', 'unit', 'each', 'in']
const TEXT = /^(\d[\d_]*)\s*([a-z][\w-]*)?\s*(?:\/|\bper\b)\s*(.+)$/i
const WINDOW = /^(.+?)(?:\s+in\s+(\S+))?(?:\s+(\d[\d_]*)\s+each)?$/i
/** A period with a word behind it that may be a zone. */
const PLACE = /^(hour|day|week)\s+([a-z][\w+-]*(?:\/[\w+/-]+)?)$/i
/** A number that is no plain one, which would be read as one with a unit. */
const NO_PLAIN_NUMBER = /^\d[\d_]*(?:[km]|e\d+)\b/i
const EXAMPLES = "'2000/day', '90000 tokens/minute 1200 each' or '10000 per day in America/Los_Angeles'"

/** Whether a part of a limit is meant as a quota. */
export function isQuotaText(part: string): boolean {
  return TEXT.test(part)
}

/** The unit that a text like `90000 tokens/s` names, if it names one. */
export function unitIn(text: string): string | undefined {
  const unit = TEXT.exec(text.trim())?.[2]
  return unit === undefined || isReserved(unit) ? undefined : unit
}

/**
 * Of a calendar, the time zone need not be known here: see `unknownZone` of window-input.ts.
 *
 * @throws InvalidLimitError
 */
export function parseQuota(input: QuotaInput): Quota {
  if (typeof input === 'string') {
    checkLength(input, 'a quota')
    return parseQuotaText(input.trim())
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new InvalidLimitError(
      `expected a quota such as { amount: 2000, per: 'day' } or ${EXAMPLES}, got: ${describe(input)}`,
    )
  }
  for (const field of Object.keys(input)) {
    if (FIELDS.includes(field)) continue
    const suggestion = nearest(field, FIELDS)
    const hint = suggestion === undefined ? `known are ${FIELDS.join(', ')}` : `did you mean ${suggestion}?`
    throw new InvalidLimitError(`unknown field ${quote(field)} in a quota: ${hint}`)
  }
  return makeQuota(input)
}

/** Formats a quota so that `parseQuota` returns the same one. */
export function formatQuota({ amount, unit, each, window }: Quota): string {
  const counted = unit === undefined ? `${amount}` : `${amount} ${unit}`
  const used = each === undefined ? '' : ` ${each} each`
  if (!isRolling(window)) return `${counted} per ${window.period} in ${window.zone}${used}`
  const name = NAMES.get(window.length)
  return name === undefined
    ? `${counted} per ${formatDuration(window.length)}${used}`
    : `${counted}/${name}${used}`
}

/** Formats what a quota allows, without what a job counts that does not say: `90000 tokens/minute`. */
export function nameOfQuota(quota: Quota): string {
  return formatQuota({ ...quota, each: undefined })
}

/** Refuses quotas of which one says nothing beside another. @throws InvalidLimitError */
export function checkQuotas(quotas: readonly Quota[]): void {
  const known = new Set<string>()
  for (const quota of quotas) {
    const { window, unit } = quota
    const per = isRolling(window) ? formatDuration(window.length) : `${window.period} in ${window.zone}`
    const name = `${unit ?? ''} per ${per}`
    if (known.has(name)) {
      throw new InvalidLimitError(
        `expected one quota of a unit for each window, got: two like ${quote(formatQuota(quota))}`,
      )
    }
    known.add(name)
  }
  for (const { unit, each } of quotas) {
    const other = quotas.find((quota) => quota.unit === unit && quota.each !== each)
    if (other === undefined) continue
    throw new InvalidLimitError(
      `expected the quotas of ${unit} to say the same for each job, got: ${each} and ${other.each}`,
    )
  }
}

const NAMES: ReadonlyMap<number, string> = new Map([
  [SECOND, 'second'],
  [MINUTE, 'minute'],
  [HOUR, 'hour'],
  [DAY, 'day'],
])

function parseQuotaText(text: string): Quota {
  const [, amount = '', unit, rest = ''] = TEXT.exec(text) ?? []
  const [, per = '', zone, each] = WINDOW.exec(rest) ?? []
  if (per === '' || text.includes(',')) {
    const hint = text.includes(',') ? '; one quota in each text, and no comma inside a number' : ''
    throw new InvalidLimitError(`expected a quota such as ${EXAMPLES}, got: ${quote(text)}${hint}`)
  }
  const [number] = NO_PLAIN_NUMBER.exec(text) ?? []
  if (number !== undefined) {
    throw new InvalidLimitError(
      `expected the amount of a quota to be a whole number such as 90000 or 90_000, got: ${number} in ${quote(text)}`,
    )
  }
  const [, before = '', used] = /^(.+?)\s+(\d[\d_]*\s+each)$/i.exec(per) ?? []
  if (zone !== undefined && used !== undefined) {
    throw new InvalidLimitError(
      `expected the zone before what a job counts, as in 'per ${before} in ${zone} ${used}', got: ${quote(text)}`,
    )
  }
  const [odd] = /\S+\s+each$/i.exec(per) ?? []
  if (odd !== undefined) {
    throw new InvalidLimitError(
      `expected what a job counts to be a whole number, such as '1200 each', got: ${quote(odd)} in ${quote(text)}`,
    )
  }
  const [, words] = /\sin\s+(.+)$/i.exec(per) ?? []
  if (words !== undefined) {
    throw new InvalidLimitError(
      `expected the name of a time zone without spaces, such as America/Los_Angeles or UTC, got: ${quote(words)} in ${quote(text)}`,
    )
  }
  const [, period = '', place] = PLACE.exec(per) ?? []
  if (place !== undefined) {
    const zoneMeant = /^in$/i.test(place) ? 'America/Los_Angeles' : place
    throw new InvalidLimitError(
      `expected the zone of a quota behind 'in', such as '${amount} per ${period} in ${zoneMeant}', got: ${quote(text)}`,
    )
  }
  return makeQuota({
    amount: whole(amount),
    per,
    ...(unit !== undefined && { unit }),
    ...(each !== undefined && { each: whole(each) }),
    ...(zone !== undefined && { in: zone }),
  })
}

function makeQuota({ amount, per, unit, each, in: zone }: QuotaParts): Quota {
  if (!(Number.isInteger(amount) && amount >= 1 && amount <= LARGEST_AMOUNT)) {
    throw new InvalidLimitError(
      `expected the amount of a quota to be a whole number from 1 to ${LARGEST_AMOUNT}, got: ${describe(amount)}${amount === 0 ? NOTHING_STARTS : ''}`,
    )
  }
  if (unit !== undefined) checkUnit(unit)
  if (unit === undefined && each !== undefined) {
    throw new InvalidLimitError(
      `expected \`each\` only with a unit, since a job has a cost, got: ${describe(each)}`,
    )
  }
  const window = Object.freeze(readWindow(per, zone))
  if (unit !== undefined && each === undefined && isWordForJobs(unit)) {
    const counted = formatQuota({ amount, unit: undefined, each, window })
    throw new InvalidLimitError(
      `expected a quota of jobs to have no unit, such as ${quote(counted)}, got: ${quote(formatQuota({ amount, unit, each, window }))}`,
    )
  }
  if (unit !== undefined && each === undefined) {
    const example = formatQuota({ amount, unit, each: Math.min(100, amount), window })
    throw new InvalidLimitError(
      `expected the quota of ${unit} to have a default for jobs that name no amount, such as ${quote(example)}, ` +
        `got: none; to count the cost of jobs instead, leave out the unit: ${quote(formatQuota({ amount, unit: undefined, each, window }))}`,
    )
  }
  if (
    each !== undefined &&
    !(Number.isInteger(each) && each >= 1 && each <= Math.min(amount, LARGEST_COST))
  ) {
    const [most, hint] =
      amount > LARGEST_COST
        ? [`${LARGEST_COST}, the most that a job may count`, each > LARGEST_COST ? `; ${LARGER_UNIT}` : '']
        : [`the amount of the quota (${amount})`, '']
    throw new InvalidLimitError(
      `expected \`each\` to be a whole number from 1 to ${most}, got: ${describe(each)}${hint}`,
    )
  }
  return Object.freeze({ amount, unit, each, window })
}

function whole(text: string): number {
  return Number(text.replaceAll('_', ''))
}
