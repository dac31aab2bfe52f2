import { z } from 'zod'
import type { ConnectionInput } from '../backend/redis/connection-input.ts'
import type { Clock } from '../core/clock.ts'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import type { LimitInput } from '../core/limit.ts'
import { parseOptions } from '../core/options.ts'
import { BASE_ORIGINS } from '../core/rule-view.ts'
import { TRACEPARENT } from '../core/traceparent.ts'
import { authorSchema, thisProcess } from './author.ts'

const milliseconds = z
  .number()
  .positive()
  .max(366 * 86_400_000)

/** An hour, unless the user says otherwise: the other side can write anything into an answer. */
export const maxFreezeMs = milliseconds.default(3_600_000)

/** How long a failed job waits: `{ type: 'exponential', delayMs: 1_000 }`, or a number for a fixed delay. */
const backoffSchema = z.union([
  milliseconds.transform((delayMs) => ({ type: 'fixed' as const, delayMs, maxDelayMs: delayMs, jitter: 0 })),
  z
    .strictObject({
      type: z.enum(['fixed', 'exponential']),
      delayMs: milliseconds,
      /** Where exponential growth ends. Default: one minute, or `delayMs` if that is longer. */
      maxDelayMs: milliseconds.optional(),
      /** Share of the delay that is left to chance. Default: half. */
      jitter: z.number().min(0).max(1).default(0.5),
    })
    .transform(({ maxDelayMs, ...backoff }) => ({
      ...backoff,
      maxDelayMs: maxDelayMs ?? Math.max(60_000, backoff.delayMs),
    })),
])

/** How often a job's handler may be started: 1 to 1,000. */
const attempts = z.int().min(1).max(1_000)

/** What every job of a shaper gets unless its `enqueue` says otherwise. */
export const jobDefaultsSchema = z.strictObject({
  /** Default: 1, no retries. */
  attempts: attempts.default(1),
  /** Default: 1 s, doubling up to one minute, half of it random. */
  backoff: backoffSchema.prefault({ type: 'exponential', delayMs: 1_000 }),
  /** How long a handler may take before its attempt counts as failed. Default: ten minutes. */
  timeoutMs: milliseconds.default(600_000),
  /** How many ended jobs `job(id)` still knows, and whose ids are still refused to others. Default: 1,000. */
  keepFinished: z.int().min(0).max(10_000_000).default(1_000),
})

const limits = z.custom<Readonly<Record<string, LimitInput>>>(
  (limits) => typeof limits === 'object' && limits !== null,
  { error: "a record of pattern and limit, such as { '*': '100, 10/s' }" },
)

/** Options of `new Shaper(name, options)`. */
export const shaperOptionsSchema = z.strictObject({
  /** Limits by pattern: `{ '*': '100, 10/s', 'twilio/+15551234': '500, 1/s' }`. A key without one is refused. */
  limits,
  /**
   * Which layer of the rule book they fill: what this program says, a configuration file that it read, or the environment
   * that it was started in, each hiding those before it. Default: `code`.
   */
  limitsFrom: z.enum(BASE_ORIGINS).default('code'),
  /** Who brings them, for `limits.list` to tell. 1 to 256 characters. Default: `<hostname>:<pid>`. */
  limitsBy: authorSchema.default(thisProcess),
  /** Further layers, each once, where limits come from several places. `by`: as `limitsBy`. Default: none. */
  moreLimits: z
    .array(z.strictObject({ limits, from: z.enum(BASE_ORIGINS), by: authorSchema.optional() }))
    .default([]),
  jobDefaults: jobDefaultsSchema.prefault({}),
  /**
   * Where many processes share the lines: a Redis URL, ioredis options, an ioredis Redis or Cluster. Default: the
   * lines are in the memory of this process.
   */
  connection: z.custom<ConnectionInput>().optional(),
  /**
   * The largest data of one job, in bytes of its JSON text, 1,024 to 16,777,216; larger ones are refused with a
   * `DataTooLargeError`. Each job holds Redis and the event loop for as long as its data take, so pass a reference to what
   * is large. Default: 1,048,576, 1 MiB.
   */
  maxDataBytes: z.int().min(1_024).max(16_777_216).default(1_048_576),
  /** With a connection: begins every key of Redis, so that several products can share one. Default: `vr`. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -, 1 to 64 of them')
    .default('vr'),
  /**
   * With a connection: over how many slots of a Redis Cluster the lines are spread; every process must say the same, and is refused otherwise.
   * Default: 1.
   */
  shards: z.int().min(1).max(256).default(1),
  /**
   * With a connection: how long before its slot a job is handed to a worker, 1 to 10,000. Default: it follows the time
   * that handing over takes.
   */
  lookAheadMs: z.number().min(1).max(10_000).optional(),
  /** Where time comes from. Default: the monotonic clock of this process. Not with a connection: Redis has the clock. */
  clock: z.custom<Clock>(isClock, { error: 'a clock with now() and wake()' }).optional(),
})

const ONLY_WITH_CONNECTION = ['prefix', 'shards', 'lookAheadMs'] as const

/** @throws InvalidOptionsError, also for options that do not go together */
export function parseShaperOptions(input: ShaperOptions): ShaperSettings {
  const settings = parseOptions(shaperOptionsSchema, input, 'new Shaper')
  if (settings.connection === undefined) {
    // An address that was not set, say: every process would then have lines of its own.
    if ('connection' in input) {
      throw new InvalidOptionsError(
        'new Shaper: expected connection to say where Redis is, or to be left out, got: undefined',
      )
    }
    const given = ONLY_WITH_CONNECTION.find((field) => input[field] !== undefined)
    if (given === undefined) return settings
    throw new InvalidOptionsError(
      `new Shaper: ${given} needs a connection: expected one beside it, got: undefined`,
    )
  }
  if (settings.clock === undefined) return settings
  throw new InvalidOptionsError(
    `new Shaper: a shared line follows the clock of Redis: expected clock to be undefined, got: ${describe(settings.clock)}`,
  )
}

/** Options of `enqueue`. */
export const enqueueOptionsSchema = z.strictObject({
  /**
   * Names the job: the same id, key, data and cost again gives the first answer again. It becomes part of names in Redis
   * and BullMQ, which a `:` divides, and of a URL, which a `/` does. Default: 32 hexadecimal digits, 24 of them random.
   */
  id: z
    .string()
    .regex(
      /^[A-Za-z0-9_-]{1,128}$/,
      'letters, digits, _ and -, 1 to 128 of them (no : and no /, which divide names in Redis and URLs)',
    )
    .optional(),
  /** Units of the capacity that the job takes, and intervals that the next departure stays away. Default: 1. */
  cost: z.int().min(1).max(1_000_000_000).optional(),
  /** Refused if it cannot depart within this time, and expired if it has not. Default: it may wait for ever. */
  deadlineMs: milliseconds.optional(),
  attempts: attempts.optional(),
  backoff: backoffSchema.optional(),
  timeoutMs: milliseconds.optional(),
  /**
   * The span that asks, as W3C Trace Context writes it, for the handler to link its own to; kept with the job, and not
   * part of what makes the same id the same request. Default: none.
   */
  traceparent: z
    .string()
    .regex(
      TRACEPARENT,
      'version, trace id, span id and flags: 2, 32, 16 and 2 digits 0-9a-f with - between them; no id all zeros',
    )
    .optional(),
})

/** One request of `enqueueMany`. */
export const enqueueRequestSchema = enqueueOptionsSchema.extend({ key: z.unknown(), data: z.unknown() })

/** Options of `work`. */
export const workOptionsSchema = z.strictObject({
  /**
   * Handlers that run at once, shared between keys: one that is not alone leaves some free. The rate shapes; this only
   * bounds memory and sockets. Default: 100.
   */
  concurrency: z.int().min(1).max(1_000_000).default(100),
  /**
   * With a connection: whether this process may be the one that hands jobs over, to all workers. One of those that
   * may is elected; where none may, nothing departs. Without a connection it makes no difference. Default: true.
   */
  scheduler: z.boolean().default(true),
  /**
   * With a connection: for how long a worker that stopped answering keeps its jobs before others get them, 500 to
   * 600,000. Without one it makes no difference. Default: 10,000.
   */
  leaseMs: z.int().min(500).max(600_000).default(10_000),
  /**
   * No handler freezes its bucket for longer, in milliseconds, whatever a `Retry-After` says: a longer FreezeError is cut
   * to this, and the `frozen` event has what was asked for. Default: one hour.
   */
  maxFreezeMs,
})

/** Options of `freeze`. */
export const freezeOptionsSchema = z.strictObject({
  /** Cuts a longer freeze to this, in milliseconds: for what the other side asked for. Default: it is not cut. */
  atMostMs: milliseconds.optional(),
})

const cost = z.int().min(1).max(1_000_000_000).default(1)

/** Options of `acquire`. */
export const acquireOptionsSchema = z.strictObject({
  /** Units of the capacity that the caller takes while he waits, and intervals that the next departure stays away. Default: 1. */
  cost,
  /**
   * Refused at once if the turn cannot come within this time, in milliseconds; on a shared line its way takes some of it,
   * so that less than 50 may be missed by a turn that is free. Default: he may wait for ever.
   */
  timeoutMs: milliseconds.optional(),
  /** Gives the place back when it is aborted; those behind move up. Default: none. */
  signal: z.instanceof(AbortSignal, { error: 'Invalid input: expected an AbortSignal' }).optional(),
})

/** Options of `tryAcquire`. */
export const tryAcquireOptionsSchema = acquireOptionsSchema.pick({ cost: true })

/** Options of `line`. */
export const lineOptionsSchema = z.strictObject({
  /** The most guests, 1 to 200. Default: 50. */
  limit: z.int().min(1).max(200).default(50),
})

/** Options of `close`. */
export const closeOptionsSchema = z.strictObject({
  /**
   * How long to let the lines drain; then the rest is cancelled and handlers that still run are aborted and fail.
   * Default: the rest is cancelled at once, and handlers that run are waited for.
   */
  drainMs: z
    .number()
    .min(0)
    .max(366 * 86_400_000)
    .optional(),
})

/** The name of a shaper, which its errors mention. */
export function checkName(name: unknown): asserts name is string {
  checkKey(name, 'name of the shaper')
}

export type ShaperOptions = z.input<typeof shaperOptionsSchema>
export type ShaperSettings = Readonly<z.output<typeof shaperOptionsSchema>>
export type JobDefaults = z.output<typeof jobDefaultsSchema>
export type EnqueueSettings = Readonly<z.output<typeof enqueueOptionsSchema>>
export type EnqueueOptions = z.input<typeof enqueueOptionsSchema>
export type AcquireOptions = z.input<typeof acquireOptionsSchema>
export type TryAcquireOptions = z.input<typeof tryAcquireOptionsSchema>
export type WorkOptions = z.input<typeof workOptionsSchema>
export type WorkSettings = Readonly<z.output<typeof workOptionsSchema>>
export type FreezeOptions = z.input<typeof freezeOptionsSchema>
export type LineOptions = z.input<typeof lineOptionsSchema>
export type CloseOptions = z.input<typeof closeOptionsSchema>
export type EnqueueRequest<Data> = EnqueueOptions & { readonly key: string; readonly data: Data }

function isClock(clock: unknown): boolean {
  return (
    typeof clock === 'object' &&
    clock !== null &&
    'now' in clock &&
    typeof clock.now === 'function' &&
    'wake' in clock &&
    typeof clock.wake === 'function'
  )
}
