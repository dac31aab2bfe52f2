import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError, isVelvetRopeError, type VelvetRopeError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import { PROBLEM_TYPE, PROBLEMS, type ProblemName, problemBody } from '../http/problem.ts'
import { rateLimitHeaders, retryAfterSeconds } from '../http/ratelimit-headers.ts'
import { policyRefusing, quotaOfMeter } from '../http/ratelimit-quotas.ts'
import type { Awaitable } from '../line/awaitable.ts'
import type { Meter } from '../meter/meter.ts'
import type { MeterReading } from '../meter/meter-reading.ts'

const call = (what: string) =>
  z.custom<(...given: never[]) => unknown>((value) => typeof value === 'function', {
    error: `a function, ${what}`,
  })

const optionsSchema = z.strictObject({
  key: call('(request) => string | undefined'),
  amount: call('(request) => number').optional(),
  costs: call('(request) => Costs').optional(),
  whenUnavailable: z.enum(['refuse', 'allow']).default('refuse'),
  onUnavailable: call('(error) => void').optional(),
  headers: z.boolean().default(true),
})

/** Options of `policeHono`, `policeExpress` and `policeFastify`. */
export interface PoliceOptions<Request> {
  /**
   * Returns the key whose bucket a request fills: `ipKey(request.ip)`, the name of an account; undefined exempts the
   * request. Text chosen by a client may be an invalid key (longer than 256 bytes, say), which is an error: hash it, or
   * look it up.
   */
  readonly key: (request: Request) => Awaitable<string | undefined>
  /** Returns the units that a request takes, 0 or more. Default: 1. */
  readonly amount?: (request: Request) => Awaitable<number>
  /**
   * Returns what a request counts in named units, such as `{ tokens: 700 }`: whole numbers above 0. One that it does not name counts
   * as much as the limit says for each. Default: none.
   */
  readonly costs?: (request: Request) => Awaitable<Costs | undefined>
  /**
   * What to do while the store is unavailable: `refuse` answers 503, `allow` passes all requests on without a limit.
   * Default: `refuse`.
   */
  readonly whenUnavailable?: 'refuse' | 'allow'
  /**
   * Called with the error each time that the store is unavailable; an error that it throws becomes a warning. Default:
   * none.
   */
  readonly onUnavailable?: (error: VelvetRopeError) => void
  /** Whether responses have `RateLimit-Policy` and `RateLimit`, with the pattern. Default: true. */
  readonly headers?: boolean
}

/** The ruling for a request. Header names are in lower case. */
export type Ruling = { readonly passes: true; readonly headers: Readonly<Record<string, string>> } | Refusal

/** The response instead of the requested one. */
export interface Refusal {
  readonly passes: false
  readonly status: 429 | 503
  readonly headers: Readonly<Record<string, string>>
  /** JSON (RFC 9457). */
  readonly body: string
}

const PASSES: Ruling = Object.freeze({ passes: true, headers: Object.freeze({}) })

/** The errors for which the level is unknown. */
const UNAVAILABLE = ['backend-unavailable', 'unfit-redis', 'closed']

/**
 * The common part of the middlewares: gets key and amount of a request, fills the bucket, and returns the ruling.
 * Errors of `key` and `amount`, and invalid results, are always thrown as an Error, because frameworks may take any
 * other value as a signal to continue.
 *
 * @throws InvalidOptionsError at once
 */
export function policeOf<Request>(
  meter: Pick<Meter, 'fill'>,
  input: PoliceOptions<Request>,
  what: string,
): (request: Request) => Promise<Ruling> {
  if (typeof (meter as Partial<Meter> | undefined)?.fill !== 'function') {
    throw new InvalidOptionsError(`${what}: expected a Meter and then options, got: ${describe(meter)}`)
  }
  const settings = parseOptions(optionsSchema, input, what)
  const { key: keyOf, amount: amountOf = () => 1, costs: costsOf = () => undefined } = input
  const judge = async (request: Request): Promise<Ruling> => {
    const key = await keyOf(request)
    if (key === undefined) return PASSES
    const amount = await amountOf(request)
    // To the meter it would mean one unit.
    if (amount === undefined) {
      throw new InvalidOptionsError(
        `${what}: expected amount to answer a number of units, 0 or more, got: undefined`,
      )
    }
    const costs = await costsOf(request)
    try {
      return rulingOf(await meter.fill(key, amount, costs), settings)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      report(input.onUnavailable, error)
      return settings.whenUnavailable === 'allow' ? PASSES : unavailable()
    }
  }
  return (request) =>
    judge(request).catch((thrown) => {
      throw toError(thrown)
    })
}

/** Reports the error; a failing report does not affect the response. */
function report(
  onUnavailable: ((error: VelvetRopeError) => unknown) | undefined,
  error: VelvetRopeError,
): void {
  const call = async () => onUnavailable?.(error)
  call().catch((thrown) => process.emitWarning(toError(thrown)))
}

/** The ruling for a request after its fill. */
function rulingOf(reading: MeterReading, { headers: hasFields }: { readonly headers: boolean }): Ruling {
  const fields = hasFields ? rateLimitHeaders(quotaOfMeter(reading)) : {}
  if (reading.accepted) return { passes: true, headers: fields }
  const { retryAfterMs } = reading
  const policies = hasFields && { 'violated-policies': [policyRefusing(reading)] }
  if (!Number.isFinite(retryAfterMs)) {
    return refusal(
      'over-limit',
      { detail: 'the request takes more than can ever be free', ...policies },
      fields,
    )
  }
  return refusal(
    'over-limit',
    { detail: `there is room in ${retryAfterMs} ms`, retryAfterMs, ...policies },
    { 'retry-after': String(retryAfterSeconds(retryAfterMs)), ...fields },
  )
}

function unavailable(): Refusal {
  return refusal(
    'temporary-reduced-capacity',
    { detail: 'whether the limit allows it is not known for the moment' },
    { 'retry-after': '1' },
  )
}

function refusal(
  problem: ProblemName & ('over-limit' | 'temporary-reduced-capacity'),
  details: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
): Refusal {
  return {
    passes: false,
    status: PROBLEMS[problem].status,
    headers: { 'content-type': PROBLEM_TYPE, ...headers },
    body: JSON.stringify(problemBody(problem, details)),
  }
}

function isUnavailable(error: unknown): error is VelvetRopeError {
  return UNAVAILABLE.some((code) => isVelvetRopeError(error, code))
}

/** With several policers on one route, each appends its own fields. */
export function combined(before: unknown, own: string): string {
  return before === undefined || before === null || before === '' ? own : `${before}, ${own}`
}
