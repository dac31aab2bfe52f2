import { type List, ParseError, parseList } from 'structured-headers'

/** Returns the value of a header by its name in lower case; repeated lines are combined. */
export type ReadHeader = (name: string) => string | null | undefined

/** Pairs of remaining quota and reset, from before there was one field for both. */
const PAIRS = [
  ['ratelimit-remaining', 'ratelimit-reset'],
  ['x-ratelimit-remaining', 'x-ratelimit-reset'],
  ['x-rate-limit-remaining', 'x-rate-limit-reset'],
] as const
/** The other side can write anything into a field; real ones have a few dozen characters for each quota. */
const LONGEST_FIELD = 1_024
const NUMBER = /^\d{1,13}(?:\.\d{1,6})?$/
/** A larger reset is no number of seconds but a time since the epoch; beyond the second bound, one in milliseconds. */
const EPOCH_SECONDS = 1e9
const EPOCH_MS = 1e12

/**
 * Returns the milliseconds until an exhausted quota is available again, by `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers-10: `"hourly";r=0;t=30`) or the older fields, whose reset may be in seconds
 * from now or since the epoch; undefined if none says so.
 *
 * @param now milliseconds since the epoch
 */
export function readRateLimit(header: ReadHeader, now: number): number | undefined {
  const resets = [readField(header('ratelimit') ?? ''), ...PAIRS.map((pair) => readPair(header, pair, now))]
  return resets.find((reset) => reset !== undefined && reset > 0)
}

/** The longest reset of several exhausted quotas. A field that is too long or not a structured field is ignored. */
function readField(text: string): number | undefined {
  if (text.length > LONGEST_FIELD) return undefined
  const resets = itemsOf(text)
    .filter(([, parameters]) => parameters.get('r') === 0)
    .map(([, parameters]) => parameters.get('t'))
    .map((seconds) => (typeof seconds === 'number' ? seconds * 1_000 : 0))
  return resets.length === 0 ? undefined : Math.max(...resets)
}

/** The members of a list (RFC 9651); none if the text is malformed: such a field must be ignored as a whole. */
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
