import { z } from 'zod'
import { isVelvetRopeError } from '../core/errors.ts'
import { type Limit, parseMeterLimit } from '../core/limit.ts'
import { EMPTY, fill, levelAt, type MeterState, refusedForMs } from '../core/meter.ts'
import { formatRate } from '../core/rate.ts'
import { Problem } from './problem.ts'
import { policyName, rateLimitHeaders, retryAfterSeconds } from './ratelimit-headers.ts'

/** A limit as text, normalised so that equal limits have equal text. */
export const tokenLimitSchema = z.string().transform((text, context) => {
  try {
    const { capacity, rate } = parseMeterLimit(text)
    // A tolerance applies to the start of handlers, not to requests.
    if (text.split(',').length === 2) return `${capacity}, ${formatRate(rate)}`
  } catch (error) {
    if (!isVelvetRopeError(error)) throw error
  }
  context.addIssue({ code: 'custom', message: "requests at once and per time, such as '600, 100/s'" })
  return z.NEVER
})

/** Bytes of a body that count as one request. */
const BYTES_OF_REQUEST = 4_096

/** As how many requests a body of this size counts. */
export function unitsOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_OF_REQUEST))
}

/** The request rate of one token: a leaky bucket as a meter, in the memory of this process. */
export class TokenRate {
  readonly #name: string
  readonly #limit: Limit
  #state: MeterState

  /** @param before continues the count of this one */
  constructor(name: string, limit: string, before: TokenRate | undefined) {
    this.#name = policyName(`token:${name}`)
    this.#limit = parseMeterLimit(limit)
    this.#state = before === undefined ? EMPTY : before.#state
  }

  /**
   * Counts a request, unless it is refused. One that counts as several is accepted where there is room for one: a batch may be
   * larger than the capacity, and those that follow wait for it.
   *
   * @throws Problem 429
   */
  count(units: number, now: number): void {
    const { capacity, interval } = this.#limit
    const request = { amount: 1, capacity, interval, clamp: false, block: 0 }
    const { accepted, state } = fill(this.#state, request, now)
    this.#state = accepted ? withMore(state, units - 1, interval, now) : state
    if (!accepted) this.#refuse(now)
  }

  /**
   * Counts more for a request that was counted with `before` units when less was known of it. Refuses it if others that
   * came since then have used up what was free.
   *
   * @throws Problem 429
   */
  countMore(units: number, before: number, now: number): void {
    const { capacity, interval } = this.#limit
    if (levelAt(this.#state, interval, now) - before >= capacity) this.#refuse(now)
    this.#state = withMore(this.#state, units, interval, now)
  }

  #refuse(now: number): never {
    const { capacity, interval } = this.#limit
    const request = { amount: 1, capacity, interval, clamp: false, block: 0 }
    const intervalMs = interval / 1_000
    const waitMs = refusedForMs(this.#state, request, now)
    const quota = { pattern: this.#name, capacity, intervalMs, free: 0, waitMs }
    throw new Problem(
      'token-rate',
      {
        detail: `the token may ask ${capacity} times at once, and then every ${intervalMs} ms; again in ${waitMs} ms`,
        retryAfterMs: waitMs,
        'violated-policies': [this.#name],
      },
      { 'Retry-After': String(retryAfterSeconds(waitMs)), ...rateLimitHeaders(quota) },
    )
  }
}

/** The state with more in it, also beyond the capacity. */
function withMore(before: MeterState, amount: number, interval: number, now: number): MeterState {
  const request = { amount, capacity: Number.POSITIVE_INFINITY, interval, clamp: false, block: 0 }
  return fill(before, request, now).state
}
