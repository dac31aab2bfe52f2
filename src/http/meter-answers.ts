import type { MeterReading } from '../meter/meter.ts'
import { Problem } from './problem.ts'
import { policyName, quotaOfMeter, rateLimitHeaders, retryAfterSeconds } from './ratelimit-headers.ts'

/** What a fill is told that did not go in: 429 and when to come back, or 422 where coming back does not help. */
export function refusedFill(key: string, reading: MeterReading, amount: number): Problem {
  const { pattern, level, space, capacity, blocked, retryAfterMs } = reading
  const mayReturn = Number.isFinite(retryAfterMs)
  const details = {
    detail: mayReturn
      ? overLimitDetail(reading, amount)
      : `the amount is ${amount}, and the bucket holds ${capacity}`,
    key,
    ...(mayReturn && { retryAfterMs }),
    level,
    space,
    capacity,
    blocked,
    'violated-policies': [policyName(pattern)],
  }
  const headers = {
    ...(mayReturn && { 'Retry-After': String(retryAfterSeconds(retryAfterMs)) }),
    ...rateLimitHeaders(quotaOfMeter(reading)),
  }
  return new Problem(mayReturn ? 'over-limit' : 'never-fits', details, headers)
}

function overLimitDetail({ blocked, space, capacity, retryAfterMs }: MeterReading, amount: number): string {
  return blocked
    ? `the bucket was full and is blocked; there is room for ${amount} in ${retryAfterMs} ms`
    : `${space} of ${capacity} units are free, and the fill needs ${amount}; there is room in ${retryAfterMs} ms`
}
