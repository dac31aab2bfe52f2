import { quote } from './describe.ts'
import { checkLength } from './duration.ts'
import { InvalidLimitError } from './errors.ts'
import type { LimitInput } from './limit.ts'
import { nearest } from './options.ts'
import { isQuotaText } from './quota-input.ts'

type LimitParts = Exclude<LimitInput, string>

/** Room for all parts that a limit may have. */
const LONGEST_TEXT = 1_000
const WORDS = ['tolerance', 'warm-up', 'weight']
const AT_ONCE = /^(\d[\d_]*)\s+at\s+once$/i
/** What only a rate, a quota or another further part may be. */
const NO_CAPACITY = /\/|\bper\b|\bevery\b|\bat\s+once$/i
const FURTHER = /^(?:tolerance|warm-up|weight)\b|\bat\s+once$/i
/** A part that a comma inside a number cut off. */
const CUT_OFF = /^(?:\d{1,3}|\d{3}\s+each)$/i
/** A number with something other than a comma between its thousands, or shortened. */
const SEPARATED = /^\d{1,3}(?:[ .']\d{3})+(?!\d)/
const SHORTENED = /^(\d+(?:\.\d+)?)([km])\b/i
const TOGETHER = /^(\d[\d_]*)\s+(?:concurrent|(?:in\s+)?parallel|simultaneous|together|at\s+a\s+time)\b/i
const FRACTION = /^\d*\.\d+(?:\s+[a-z][\w-]*)?\s*(?:\/|\bper\b)/i
const NO_WINDOW = /^\d[\d_]*\s+[a-z][\w-]*(?:\s+\d[\d_]*\s+each)?$/i

/** Reads a limit that was written as text into its parts. @throws InvalidLimitError */
export function parseLimitText(text: string): LimitParts {
  checkLength(text, 'a limit', LONGEST_TEXT)
  const [capacity = '', rate, ...rest] = text.split(',').map((part) => part.trim())
  if (rate === undefined) {
    const begin = /^\d[\d_]*[\s;]+\d/.test(text) ? 'put a comma after' : 'begin with'
    const hint = NO_CAPACITY.test(text) ? `: ${begin} the capacity, how many may wait` : ''
    throw new InvalidLimitError(
      `expected '<capacity>, <rate>' such as '100, 10/s', got: ${quote(text)}${hint}`,
    )
  }
  if (!/^\d[\d_]*$/.test(capacity)) {
    const hint = NO_CAPACITY.test(capacity) ? ': first the capacity, then the rate, then the other parts' : ''
    throw new InvalidLimitError(
      `expected the capacity to be a whole number above 0, got: ${quote(capacity)} in ${quote(text)}${hint}`,
    )
  }
  if (isCut(rate, rest[0])) throw commaInside(rate, text)
  if (FURTHER.test(rate)) {
    throw new InvalidLimitError(
      `expected a rate such as '10/s' as the second part, and ${quote(rate)} after it, got: ${quote(text)}`,
    )
  }
  if (/\sin\s/i.test(rate)) {
    throw new InvalidLimitError(
      "expected the second part to be a pace such as '10/s', which has no time zone, and quotas after it, " +
        `got: ${quote(rate)} in ${quote(text)}`,
    )
  }
  return { capacity: Number(capacity.replaceAll('_', '')), rate, ...parseFurther(rest, text) }
}

/** Whether the rate is a part of a number: `1,000, 10/s`, `9, 1,000/s` and `1,000/s`. */
function isCut(rate: string, next = ''): boolean {
  const isBefore = /^\d{3}$/.test(rate) && /\/|\sper\s|^every\s/i.test(next)
  return isBefore || (/^\d{1,3}$/.test(rate) && /^\d{3}(?!\d)/.test(next)) || /^0\d\d(?!\d)/.test(rate)
}

function commaInside(part: string, text: string): InvalidLimitError {
  return new InvalidLimitError(
    `expected numbers without a comma inside, such as 90000 or 90_000, got: ${quote(part)} alone in ${quote(text)}`,
  )
}

/** Parses the parts after the rate, in any order. */
function parseFurther(parts: readonly string[], text: string): Partial<LimitParts> {
  const given = new Map<string, string>()
  const quotas: string[] = []
  for (const part of parts) {
    const atOnce = AT_ONCE.exec(part)?.[1]
    const [, first = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(part)!
    const [word, value] = atOnce === undefined ? [first.toLowerCase(), rest] : ['at once', atOnce]
    if (isQuotaText(part)) quotas.push(part)
    else if ((!WORDS.includes(word) && word !== 'at once') || value === '')
      throw unknownPart(part, word, text)
    else if (given.has(word)) throw new InvalidLimitError(`expected one ${word}, got: two in ${quote(text)}`)
    else given.set(word, value)
  }
  const [warmUp, ...from] = given.get('warm-up')?.split(/\s+from\s+/i) ?? []
  const concurrency = given.get('at once')?.replaceAll('_', '')
  const weight = given.get('weight')
  return {
    tolerance: given.get('tolerance'),
    warmUp,
    // All that is behind the first `from`, so that nothing is left out in silence.
    coldRate: from.length === 0 ? undefined : from.join(' from '),
    quotas,
    ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
    ...(weight !== undefined && { weight: readWeightText(weight) }),
  }
}

function readWeightText(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidLimitError(`expected the weight to be a number such as 3, got: ${quote(text)}`)
}

function unknownPart(part: string, word: string, text: string): InvalidLimitError {
  if (CUT_OFF.test(part)) return commaInside(part, text)
  const hint = hintFor(part, word)
  return new InvalidLimitError(
    "expected 'tolerance <duration>', 'warm-up <duration>', a quota such as '2000/day', '50 at once', or 'weight 3' after the rate, " +
      `got: ${quote(part)} in ${quote(text)}${hint}`,
  )
}

function hintFor(part: string, word: string): string {
  const [shortened, count, factor = ''] = SHORTENED.exec(part) ?? []
  if (shortened !== undefined) {
    return `: write ${Math.round(Number(count) * (factor.toLowerCase() === 'k' ? 1e3 : 1e6))} for ${shortened}`
  }
  const [separated] = SEPARATED.exec(part) ?? []
  if (separated !== undefined) return `: write ${separated.replace(/\D/g, '')} for ${separated}`
  const [, places] = TOGETHER.exec(part) ?? []
  if (places !== undefined) return `: did you mean ${places} at once?`
  if (FRACTION.test(part)) {
    return ': the amount of a quota is a whole number; for less than one in a window, make the window longer'
  }
  if (NO_WINDOW.test(part)) return ': a quota has a window, such as /minute'
  const near = WORDS.includes(word) ? undefined : nearest(word, WORDS)
  return near === undefined ? '' : `: did you mean ${near}?`
}
