import { type List, ParseError, parseList } from 'structured-headers'

/** The value of a header, by its name in lower case; the lines of a list are combined. */
export type ReadHeader = (name: string) => string | null | undefined

/** Pairs of what is left and when there is more again, as they were called before there was one field for both. */
const PAIRS = [
  ['ratelimit-remaining', 'ratelimit-reset'],
  ['x-ratelimit-remaining', 'x-ratelimit-reset'],
  ['x-rate-limit-remaining', 'x-rate-limit-reset'],
] as const
const NUMBER = /^\d{1,13}(?:\.\d{1,6})?$/
/** No reset is so many seconds away: beyond, it is a time since the epoch, and beyond the second, one in milliseconds. */
const EPOCH_SECONDS = 1e9
const EPOCH_MS = 1e12

/**
 * In how many milliseconds a quota that is used up has something left again, by `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers-10: `"hourly";r=0;t=30`) or the older fields, whose reset may be in seconds from
 * now or since the epoch; undefined when none says so.
 *
 * @param now milliseconds since the epoch
 */
export function readRateLimit(header: ReadHeader, now: number): number | undefined {
  const resets = [readField(header('ratelimit') ?? ''), ...PAIRS.map((pair) => readPair(header, pair, now))]
  return resets.find((reset) => reset !== undefined && reset > 0)
}

/** Of several quotas that are used up, the one that lasts longest. A field that is no structured one says nothing. */
function readField(text: string): number | undefined {
  const resets = itemsOf(text)
    .filter(([, parameters]) => parameters.get('r') === 0)
    .map(([, parameters]) => parameters.get('t'))
    .map((seconds) => (typeof seconds === 'number' ? seconds * 1_000 : 0))
  return resets.length === 0 ? undefined : Math.max(...resets)
}

/** The members of a list (RFC 9651); none where the text is no list: such a field is to be ignored as a whole. */
function itemsOf(text: string): List {
  try {
    return parseList(text)
  } catch (error) {
    if (error instanceof ParseError) return []
    throw error
  }
}

function readPair(
  header: ReadHeader,
  [remaining, reset]: (typeof PAIRS)[number],
  now: number,
): number | undefined {
  const text = header(reset)?.trim() ?? ''
  if (!NUMBER.test(text) || Number(header(remaining) ?? 0) !== 0) return undefined
  const given = Number(text)
  if (given >= EPOCH_MS) return given - now
  return given >= EPOCH_SECONDS ? given * 1_000 - now : given * 1_000
}
