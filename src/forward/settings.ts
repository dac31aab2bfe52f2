import { z } from 'zod'

/** The longest that a request may be given: ten minutes, as a handler gets by default. */
export const LONGEST_TIMEOUT_MS = 600_000

const DAY_MS = 86_400_000

/** Where jobs may be forwarded to, and what goes along. `${NAME}` stands for a variable of the environment. */
export const forwardSettingsSchema = z.strictObject({
  /**
   * Origins that a job may name: scheme, host and port must be the same. `https://*.example.com` stands for every
   * host of one label more.
   */
  allow: z.array(z.string()).min(1, 'one origin or more, such as https://api.stripe.com'),
  /**
   * Hosts, as `host` or `host:port`, that may have an address which is not public: loopback, private, shared or
   * unique local. Link-local addresses and those of cloud metadata services stay refused. Default: none.
   */
  allowPrivate: z.array(z.string()).default([]),
  /**
   * Headers for every request to an origin of `allow`: `{ 'https://api.stripe.com': { authorization: 'Bearer
   * ${STRIPE_KEY}' } }`. They win over a job's own. What a variable holds is a secret: it shows up nowhere.
   */
  headers: z.record(z.string(), z.record(z.string(), z.string())).default({}),
  /** Signs requests as Standard Webhooks do; `secret` refers to a variable that holds `whsec_` and base64. */
  signing: z.strictObject({ secret: z.string() }).optional(),
  /** From the start, before the name is resolved, to the last byte received; a job may say otherwise. Default: 30 s. */
  timeoutMs: z.int().min(1).max(LONGEST_TIMEOUT_MS).default(30_000),
  /** So much of an answer is kept as the job's result, in bytes. Default: 64 KiB. */
  maxResponseBytes: z.int().min(0).max(16_777_216).default(65_536),
  /** The first freeze of a key when no Retry-After came; it doubles up to one minute. Default: 1 s. */
  freezeMs: z.int().min(1).max(DAY_MS).default(1_000),
})

export type ForwardSettings = z.input<typeof forwardSettingsSchema>
