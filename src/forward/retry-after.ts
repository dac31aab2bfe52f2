import { type ReadHeader, readRateLimit } from './rate-limit-fields.ts'

/** RFC 9110, 5.6.7: the form to send, and the two old ones that are still to be understood. */
const DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
]
/** Shopify, for one, sends `2.0`. */
const SECONDS = /^\d{1,10}(?:\.\d{1,6})?$/

/**
 * How long an answer asks to stay away, in milliseconds; undefined when it does not say so, or says a time that is over.
 *
 * @param date the answer's own `Date`: if it came, the two are of one clock, whatever ours says
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
 * How long an answer asks to stay away, in milliseconds: by `Retry-After`, or else by a quota that is used up;
 * undefined when it does not say so.
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
  // Without its zone a date would be taken for local time.
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

function known(number: number): number | undefined {
  return Number.isNaN(number) ? undefined : number
}
