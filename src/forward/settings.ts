import { z } from 'zod'
import { recordOf } from '../core/options.ts'
import { isUnit, UNIT_NAME } from '../core/unit.ts'
import { MOST_UNITS } from '../line/settle.ts'

/** The longest time limit of a request: ten minutes, the default of a handler. */
export const LONGEST_TIMEOUT_MS = 600_000

const DAY_MS = 86_400_000

/** Up to 8 names of fields. */
const PATH = /^(?=.{1,200}$)[\w-]+(?:\.[\w-]+){0,7}$/
const HEADER = /^[\w!#$%&'*+.^`|~-]{1,200}$/

const PLACE =
  'names of fields with . between them, such as usage.total_tokens, or a header, such as { header: x-tokens-used }'

/** Where an answer says what its call counted: a path into its JSON, such as `usage.total_tokens`, or a header. */
export type Place = string | { readonly header: string }

/** What calls count, by unit: where their answers say it. */
export const settleRulesSchema = recordOf(
  z.string().refine(isUnit, UNIT_NAME),
  z.custom<Place>(isPlace, PLACE).transform(inLowerCase),
  undefined,
  { most: MOST_UNITS, what: 'units' },
)

/** Where jobs may be forwarded, and what is added. `${NAME}` stands for an environment variable. */
export const forwardSettingsSchema = z.strictObject({
  /**
   * Origins that jobs may call: scheme, host and port must be equal. `https://*.example.com` matches every host with
   * one more label. Required.
   */
  allow: z.array(z.string()).min(1, 'one origin or more, such as https://api.stripe.com'),
  /**
   * Hosts, as `host` or `host:port`, that may have a non-public address: loopback, private, shared or unique local.
   * Link-local addresses and those of cloud metadata services stay forbidden. Default: none.
   */
  allowPrivate: z.array(z.string()).default([]),
  /**
   * Headers for every request to an origin of `allow`: `{ 'https://api.stripe.com': { authorization: 'Bearer
   * ${STRIPE_KEY}' } }`. They override those of the job. Values of variables are secret and shown nowhere. Default:
   * none.
   */
  headers: recordOf(z.string(), recordOf(z.string(), z.string())).default({}),
  /**
   * Signs requests as in Standard Webhooks; `secret` refers to a variable with `whsec_` and base64. Default: not
   * signed.
   */
  signing: z.strictObject({ secret: z.string() }).optional(),
  /**
   * Time limit of a request in milliseconds, from before the name is resolved to the last byte received; a job may set
   * its own. Default: 30,000.
   */
  timeoutMs: z.int().min(1).max(LONGEST_TIMEOUT_MS).default(30_000),
  /**
   * The longest time limit that a job may set, in milliseconds; up to `timeoutMs` where that is longer. A request without an
   * answer holds a handler for as long. Default: 60,000.
   */
  maxTimeoutMs: z.int().min(1).max(LONGEST_TIMEOUT_MS).default(60_000),
  /** How many bytes of a response body are kept as the job's result. Default: 65,536. */
  maxResponseBytes: z.int().min(0).max(16_777_216).default(65_536),
  /** The first freeze of a key without Retry-After, in milliseconds; it doubles up to one minute. Default: 1,000. */
  freezeMs: z.int().min(1).max(DAY_MS).default(1_000),
  /**
   * What a call really counted, by unit: where the JSON of its answer says so, such as `{ tokens: 'usage.total_tokens' }`, or which
   * header, such as `{ tokens: { header: 'x-tokens-used' } }`. An answer that does not say it, or whose JSON is longer than 1 MiB, leaves
   * the estimate. Default: estimates stand.
   */
  settle: settleRulesSchema.default({}),
})

export type ForwardSettings = z.input<typeof forwardSettingsSchema>

function isPlace(place: unknown): boolean {
  if (typeof place === 'string') return PATH.test(place)
  if (typeof place !== 'object' || place === null || Object.keys(place).join() !== 'header') return false
  return 'header' in place && typeof place.header === 'string' && HEADER.test(place.header)
}

/** As the names of received headers are. */
function inLowerCase(place: Place): Place {
  return typeof place === 'string' ? place : { header: place.header.toLowerCase() }
}
