import { type ReadHeader, readRateLimit } from './rate-limit-fields.ts'

/** RFC 9110, 5.6.7: the preferred form, and the two obsolete ones that must be accepted. */
const DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
]
/** Shopify, for one, sends `2.0`. */
const SECONDS = /^\d{1,10}(?:\.\d{1,6})?$/

/**
 * Parses `Retry-After` into milliseconds from now; undefined if there is none, or the time has passed.
 *
 * @param date the response's own `Date`: if present, the difference of the two is independent of the local clock
 * @param now milliseconds since the epoch
 */
export function readRetryAfter(
  text: string | undefined,
  date: string | undefined,
  now: number,
): number | undefined {
  if (text === undefined) return undefined
  const given = text.trim()
  const delay = SECONDS.test(given)
    ? Number(given) * 1_000
    : readDate(given) - (known(readDate(date ?? '')) ?? now)
  return delay > 0 ? delay : undefined
}

/**
 * Returns how long a response asks to stay away, in milliseconds: by `Retry-After`, otherwise by an exhausted quota;
 * undefined if it does not say so.
 *
 * @param now milliseconds since the epoch
 */
export function readStayAway(header: ReadHeader, now: number): number | undefined {
  const date = header('date') ?? undefined
  return (
    readRetryAfter(header('retry-after') ?? undefined, date, now) ??
    readRateLimit(header, known(readDate(date ?? '')) ?? now)
  )
}

function readDate(text: string): number {
  if (!DATES.some((form) => form.test(text))) return Number.NaN
  // Without a zone a date would be read as local time.
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

function known(number: number): number | undefined {
  return Number.isNaN(number) ? undefined : number
}
