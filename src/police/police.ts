import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError, isVelvetRopeError, type VelvetRopeError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { toError } from '../core/thrown.ts'
import { PROBLEM_TYPE, PROBLEMS, type ProblemName, problemBody } from '../http/problem.ts'
import { policyName, quotaOfMeter, rateLimitHeaders, retryAfterSeconds } from '../http/ratelimit-headers.ts'
import type { Awaitable } from '../line/awaitable.ts'
import type { Meter, MeterReading } from '../meter/meter.ts'

const call = (what: string) =>
  z.custom<(...given: never[]) => unknown>((value) => typeof value === 'function', {
    error: `a function, ${what}`,
  })

const optionsSchema = z.strictObject({
  key: call('(request) => string | undefined'),
  amount: call('(request) => number').optional(),
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
   * What to do while the store is unavailable: `refuse` answers 503, `allow` passes all requests on without a limit.
   * Default: `refuse`.
   */
  readonly whenUnavailable?: 'refuse' | 'allow'
  /** Is told each time that the levels could not be reached; what it throws is a warning. Default: nobody is. */
  readonly onUnavailable?: (error: VelvetRopeError) => void
  /** Whether answers tell of the limit: `RateLimit-Policy` and `RateLimit`, with the pattern. Default: yes. */
  readonly headers?: boolean
}

/** What becomes of a request. Names of headers are in small letters. */
export type Ruling = { readonly passes: true; readonly headers: Readonly<Record<string, string>> } | Refusal

/** An answer in the place of the one that was asked for. */
export interface Refusal {
  readonly passes: false
  readonly status: 429 | 503
  readonly headers: Readonly<Record<string, string>>
  /** JSON (RFC 9457). */
  readonly body: string
}

const PASSES: Ruling = Object.freeze({ passes: true, headers: Object.freeze({}) })

/** The errors that mean: nobody knows the level. */
const UNAVAILABLE = ['backend-unavailable', 'unfit-redis', 'closed']

/**
 * What the middlewares have in common: asks for the key and the amount of a request, fills the bucket, and says what
 * becomes of the request. What `key` and `amount` throw is thrown, and so is what they make no sense of; always as an
 * error, since to frameworks nothing thrown, or a word, may mean to go on.
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
  const { key: keyOf, amount: amountOf = () => 1 } = input
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
    try {
      return rulingOf(await meter.fill(key, amount), settings)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      tell(input.onUnavailable, error)
      return settings.whenUnavailable === 'allow' ? PASSES : unavailable()
    }
  }
  return (request) =>
    judge(request).catch((thrown) => {
      throw toError(thrown)
    })
}

/** Whatever becomes of the telling, the request gets its answer. */
function tell(
  onUnavailable: ((error: VelvetRopeError) => unknown) | undefined,
  error: VelvetRopeError,
): void {
  const told = async () => onUnavailable?.(error)
  told().catch((thrown) => process.emitWarning(toError(thrown)))
}

/** What becomes of a request whose fill was answered so. */
function rulingOf(reading: MeterReading, { headers: tells }: { readonly headers: boolean }): Ruling {
  const told = tells ? rateLimitHeaders(quotaOfMeter(reading)) : {}
  if (reading.accepted) return { passes: true, headers: told }
  const { pattern, retryAfterMs } = reading
  const policies = tells && { 'violated-policies': [policyName(pattern)] }
  if (!Number.isFinite(retryAfterMs)) {
    return refusal(
      'over-limit',
      { detail: 'the request takes more than can ever be free', ...policies },
      told,
    )
  }
  return refusal(
    'over-limit',
    { detail: `there is room in ${retryAfterMs} ms`, retryAfterMs, ...policies },
    { 'retry-after': String(retryAfterSeconds(retryAfterMs)), ...told },
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

/** Of several policers before one route, each adds its own to the fields. */
export function combined(before: unknown, own: string): string {
  return before === undefined || before === null || before === '' ? own : `${before}, ${own}`
}
