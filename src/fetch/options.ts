import { z } from 'zod'
import { wallClockMs } from '../core/clock.ts'
import { forwardSettingsSchema } from '../forward/settings.ts'
import { LATER } from '../forward/verdict.ts'
import { maxFreezeMs } from '../line/options.ts'
import { acquireOptionsSchema } from '../shaper/options.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { AnyFetch } from './shaped-fetch.ts'

type KeyOf = (request: OutgoingRequest) => string
type CostOf = (request: OutgoingRequest) => number

const isFunction = (value: unknown) => typeof value === 'function'

const turnFields = {
  /**
   * Whose turn a request takes: a key, or a function that answers one. Default: the host that is asked, as
   * `api.example.com`, or `api.example.com:8443` if its port is not the usual one. Without a host (`data:`,
   * `blob:`, `file:`, `about:`) it is nobody's API, and `shapedFetch` takes no turn for it.
   */
  key: z
    .custom<string | KeyOf>((value) => typeof value === 'string' || isFunction(value), {
      error: 'Invalid input: expected a key or a function that answers one',
    })
    .optional(),
  /** As of `acquire`, or a function that answers it. Default: 1. */
  cost: z.union([
    acquireOptionsSchema.shape.cost,
    z.custom<CostOf>(isFunction, { error: 'Invalid input: expected a cost or a function that answers one' }),
  ]),
  /** How long a request may wait for its turn, in milliseconds; its answer may take longer. Default: for ever. */
  timeoutMs: acquireOptionsSchema.shape.timeoutMs,
  /** Statuses of answers that freeze the key. Default: 429, 503 and 529. */
  freezeOn: z.array(z.int().min(400).max(599)).default(() => [...LATER]),
  /** The first freeze, in milliseconds, when an answer does not say how long; it doubles up to one minute. Default: 1 s. */
  freezeMs: forwardSettingsSchema.shape.freezeMs,
  /** No freeze is longer, whatever an answer says. Default: one hour. */
  maxFreezeMs,
  /** Milliseconds since the epoch, with which dates in answers are compared. Default: the clock of the machine. */
  now: z.custom<() => number>(isFunction, { error: 'a function' }).default(() => wallClockMs),
}

/** Options of `turnInterceptor`. */
export const turnOptionsSchema = z.strictObject(turnFields)

/** Options of `shapedFetch`. */
export const fetchOptionsSchema = z.strictObject({
  ...turnFields,
  /**
   * How often a request is sent when its answer freezes the key, 1 to 1,000; each time it waits for a turn. One whose
   * body is a stream is sent once. Default: 1, the answer is the caller's.
   */
  attempts: z.int().min(1).max(1_000).default(1),
  /** Sends the requests. Default: the global `fetch`, as it is when a request is sent. */
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
