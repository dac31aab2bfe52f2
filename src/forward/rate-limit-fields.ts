/** The value of a header, by its name in lower case. */
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

/** Of several quotas that are used up, the one that lasts longest. */
function readField(text: string): number | undefined {
  const items = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').split(',')
  const resets = items
    .filter((item) => parameterOf(item, 'r') === 0)
    .map((item) => (parameterOf(item, 't') ?? 0) * 1_000)
  return resets.length === 0 ? undefined : Math.max(...resets)
}

function parameterOf(item: string, name: 'r' | 't'): number | undefined {
  const [, digits] = new RegExp(`;\\s*${name}=(\\d{1,15})\\s*(?:;|$)`).exec(item) ?? []
  return digits === undefined ? undefined : Number(digits)
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
