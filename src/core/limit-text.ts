import { quote } from './describe.ts'
import { InvalidLimitError } from './errors.ts'
import type { LimitInput } from './limit.ts'
import { nearest } from './options.ts'
import { isQuotaText } from './quota-input.ts'

type LimitParts = Exclude<LimitInput, string>

const WORDS = ['tolerance', 'warm-up']
const AT_ONCE = /^(\d[\d_]*)\s+at\s+once$/i

/** Reads a limit that was written as text into its parts. @throws InvalidLimitError */
export function parseLimitText(text: string): LimitParts {
  const [capacity = '', rate, ...rest] = text.split(',').map((part) => part.trim())
  if (rate === undefined) {
    throw new InvalidLimitError(`expected '<capacity>, <rate>' such as '100, 10/s', got: ${quote(text)}`)
  }
  if (!/^\d[\d_]*$/.test(capacity)) {
    throw new InvalidLimitError(
      `expected the capacity to be a whole number above 0, got: ${quote(capacity)} in ${quote(text)}`,
    )
  }
  if (/^\d{3}$/.test(rate) && /\/|\sper\s|^every\s/i.test(rest[0] ?? '')) throw commaInside(rate, text)
  if (/\sin\s/i.test(rate)) {
    throw new InvalidLimitError(
      "expected the second part to be a pace such as '10/s', which has no time zone, and quotas after it, " +
        `got: ${quote(rate)} in ${quote(text)}`,
    )
  }
  return { capacity: Number(capacity.replaceAll('_', '')), rate, ...parseFurther(rest, text) }
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
  const [warmUp, coldRate] = given.get('warm-up')?.split(/\s+from\s+/i) ?? []
  const concurrency = given.get('at once')?.replaceAll('_', '')
  return {
    tolerance: given.get('tolerance'),
    warmUp,
    coldRate,
    quotas,
    ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
  }
}

function unknownPart(part: string, word: string, text: string): InvalidLimitError {
  if (/^\d{1,3}$/.test(part)) return commaInside(part, text)
  const near = WORDS.includes(word) ? undefined : nearest(word, WORDS)
  const hint = near === undefined ? '' : `: did you mean ${near}?`
  return new InvalidLimitError(
    "expected 'tolerance <duration>', 'warm-up <duration>', a quota such as '2000/day', or '50 at once' after the rate, " +
      `got: ${quote(part)} in ${quote(text)}${hint}`,
  )
}
