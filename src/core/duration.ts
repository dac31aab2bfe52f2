import { quote } from './describe.ts'
import { InvalidLimitError } from './errors.ts'

/** Microseconds per unit. All instants and durations in the core are microseconds. */
export const MILLISECOND = 1_000
export const SECOND = 1_000_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', MILLISECOND],
  ['millisecond', MILLISECOND],
  ['milliseconds', MILLISECOND],
  ['s', SECOND],
  ['sec', SECOND],
  ['second', SECOND],
  ['seconds', SECOND],
  ['m', MINUTE],
  ['min', MINUTE],
  ['minute', MINUTE],
  ['minutes', MINUTE],
  ['h', HOUR],
  ['hr', HOUR],
  ['hour', HOUR],
  ['hours', HOUR],
  ['d', DAY],
  ['day', DAY],
  ['days', DAY],
])

const LONGEST = 366 * DAY
const PART = /(\d[\d_]*(?:\.\d+)?)?\s*([a-z]+)\s*/giy
const ISO = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/
const ISO_UNITS = [DAY, HOUR, MINUTE, SECOND]

/**
 * Reading a text of any length would keep all else waiting: patterns go over it again and again.
 *
 * @throws InvalidLimitError for a text that is longer than `what` needs
 */
export function checkLength(text: string, what: string, most = 200): void {
  if (text.length <= most) return
  throw new InvalidLimitError(`expected ${what} of at most ${most} characters, got: ${text.length}`)
}

/**
 * Parses `250ms`, `1.5s`, `15 minutes`, `1m30s`, `PT1M30S`, or a unit alone (`minute`), which means one of it.
 *
 * @returns whole microseconds, above 0 and at most 366 days
 * @throws InvalidLimitError for anything else, and for `M`, which may mean minute or month
 */
export function parseDuration(text: string): number {
  checkLength(text, 'a duration')
  const input = text.trim()
  const duration = input.startsWith('P') ? parseIso(input) : parseParts(input)
  const whole = Math.round(duration)
  if (!(whole > 0 && whole <= LONGEST)) {
    throw new InvalidLimitError(`expected a duration above 0 and at most 366 days, got: ${quote(text)}`)
  }
  if (Math.abs(whole - duration) > 1e-6) {
    throw new InvalidLimitError(`expected a duration of whole microseconds, got: ${quote(text)}`)
  }
  return whole
}

/** Formats microseconds so that `parseDuration` returns them: in the largest unit that is a whole number. */
export function formatDuration(duration: number): string {
  for (const [unit, size] of SHORT_UNITS) {
    if (duration % size === 0) return `${duration / size}${unit}`
  }
  return `${duration / MILLISECOND}ms`
}

const SHORT_UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['m', MINUTE],
  ['s', SECOND],
] as const

function parseParts(text: string): number {
  let total = 0
  PART.lastIndex = 0
  do {
    const from = PART.lastIndex
    const part = PART.exec(text)
    if (part === null) throw unreadable(text)
    const [, count, unit = ''] = part
    if (count === undefined && from > 0) throw unreadable(text)
    if (unit === 'M') {
      throw new InvalidLimitError(`in ${quote(text)}: M may mean minute or month, write m for minutes`)
    }
    const size = UNITS.get(unit.toLowerCase())
    if (size === undefined) throw unreadable(text)
    total += (count === undefined ? 1 : parseCount(count)) * size
  } while (PART.lastIndex < text.length)
  return total
}

function parseIso(text: string): number {
  const parts = ISO.exec(text)?.slice(1)
  if (parts === undefined) throw unreadable(text)
  return parts.reduce((total, part, index) => total + Number(part ?? 0) * ISO_UNITS[index]!, 0)
}

/** Parses a decimal number that may contain `_` between its digits. */
export function parseCount(text: string): number {
  return Number(text.replaceAll('_', ''))
}

/** Longer units, of which only a calendar knows how long they are. */
const LONGER: ReadonlyMap<string, string> = new Map([
  ['week', '7 days'],
  ['month', '30 days'],
  ['year', '365 days'],
])

function unreadable(text: string): InvalidLimitError {
  const [, unit = ''] = /\b(week|month|year)s?$/i.exec(text) ?? []
  const days = LONGER.get(unit.toLowerCase())
  const hint = days === undefined ? '' : `: write ${days} for a ${unit}`
  return new InvalidLimitError(
    `expected a duration such as 250ms, 1.5s, 15 minutes, 1m30s or PT1M30S, got: ${quote(text)}${hint}`,
  )
}
