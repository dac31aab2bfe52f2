import { z } from 'zod'
import { wallClockMs } from '../core/clock.ts'
import type { Costs } from '../core/usage.ts'
import { forwardSettingsSchema, settleRulesSchema } from '../forward/settings.ts'
import { LATER } from '../forward/verdict.ts'
import { maxFreezeMs } from '../line/options.ts'
import { acquireOptionsSchema } from '../shaper/options.ts'
import type { SettleOf } from './answer-settling.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { AnyFetch } from './shaped-fetch.ts'

type KeyOf = (request: OutgoingRequest) => string
type CostOf = (request: OutgoingRequest) => number
type CostsOf = (request: OutgoingRequest) => Costs | undefined

const isFunction = (value: unknown) => typeof value === 'function'

const turnFields = {
  /**
   * The key of a request, or a function that returns it. Default: the host of the request, as `api.example.com`, or
   * `api.example.com:8443` if its port is not the default one. A URL without a host (`data:`, `blob:`, `file:`,
   * `about:`) calls no API, and `shapedFetch` takes no turn for it.
   */
  key: z
    .custom<string | KeyOf>((value) => typeof value === 'string' || isFunction(value), {
      error: 'a key or a function that returns one',
    })
    .optional(),
  /** Cost units of a request, as in `acquire`, or a function that returns them. Default: 1. */
  cost: z.union([
    acquireOptionsSchema.shape.cost,
    z.custom<CostOf>(isFunction, { error: 'a cost or a function that returns one' }),
  ]),
  /**
   * What a request counts in quotas of other units, such as `{ tokens: 1200 }`, as in `acquire`, or a function that
   * returns it. Default: none.
   */
  costs: z.union([
    acquireOptionsSchema.shape.costs,
    z.custom<CostsOf>(isFunction, {
      error: 'an object such as { tokens: 1200 } or a function that returns one',
    }),
  ]),
  /**
   * What a request really counted, by unit, as `turn.settle` takes it. Where the JSON of its answer says so, such as
   * `{ tokens: 'usage.total_tokens' }`, or which header, such as `{ tokens: { header: 'x-tokens-used' } }`: read in
   * answers of 2xx alone. Or a function of any answer, `{ status, headers, json }`, which may return a promise, and
   * undefined for the estimate. The turn keeps its place until that is known, so for a path and a function until the body
   * has come; the answer goes to the caller at once, and up to 1 MiB of its body is copied. What fails here becomes an
   * `error` event, and the estimate stands. Default: estimates stand, and no body is copied.
   */
  settle: z
    .union([
      settleRulesSchema,
      z.custom<SettleOf>(isFunction, {
        error: "rules such as { tokens: 'usage.total_tokens' } or a function of the answer",
      }),
    ])
    .optional(),
  /** How long a request may wait for its turn, in milliseconds; its response may take longer. Default: unlimited. */
  timeoutMs: acquireOptionsSchema.shape.timeoutMs,
  /**
   * How long a request may hold its place, in milliseconds, where the limit says how many may be at once; then the place is
   * free for others, with the event `holdExpired`, and the request goes on. Default: ten minutes.
   */
  holdMs: acquireOptionsSchema.shape.holdMs,
  /** Response statuses that freeze the key. Default: 429, 503 and 529. */
  freezeOn: z.array(z.int().min(400).max(599)).default(() => [...LATER]),
  /**
   * The first freeze, in milliseconds, if a response does not say how long; it doubles up to one minute. Default:
   * 1,000.
   */
  freezeMs: forwardSettingsSchema.shape.freezeMs,
  /** The longest freeze, in milliseconds, whatever a response says. Default: 3,600,000 (one hour). */
  maxFreezeMs,
  /** The current time in milliseconds since the epoch, for dates in responses. Default: the wall clock. */
  now: z.custom<() => number>(isFunction, { error: 'a function' }).default(() => wallClockMs),
}

/** Options of `turnInterceptor`. */
export const turnOptionsSchema = z.strictObject(turnFields)

/** Options of `shapedFetch`. */
export const fetchOptionsSchema = z.strictObject({
  ...turnFields,
  /**
   * How often a request is sent while its responses freeze the key, 1 to 1,000; each time it waits for a turn. A
   * request with a stream as its body is sent once. Default: 1, the response goes to the caller.
   */
  attempts: z.int().min(1).max(1_000).default(1),
  /** Sends the requests. Default: the global `fetch` at the time of a request. */
  fetch: z
    .custom<AnyFetch>(isFunction, { error: 'a function' })
    .default(() => (input: never, init: never) => globalThis.fetch(input, init)),
})

export type TurnOptions = z.input<typeof turnOptionsSchema>
export type TurnSettings = Readonly<z.output<typeof turnOptionsSchema>>
export type FetchOptions<Fetch extends AnyFetch = typeof fetch> = Omit<
  z.input<typeof fetchOptionsSchema>,
  'fetch'
> & { readonly fetch?: Fetch }
