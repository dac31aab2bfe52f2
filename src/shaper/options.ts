import { z } from 'zod'
import type { Clock } from '../core/clock.ts'
import { describe } from '../core/describe.ts'
import { MILLISECOND } from '../core/duration.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { JOB_ID } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import { TRACEPARENT } from '../core/traceparent.ts'
import {
  attempts,
  backoffSchema,
  lineOptionsSchema,
  milliseconds,
  type WorkOptions,
  type WorkSettings,
  workOptionsSchema,
} from '../line/options.ts'
import { costsSchema } from '../line/settle.ts'
import { DEFAULT_HOLD } from '../line/turn.ts'
import { redisOptionsSchema } from '../redis/options.ts'

/** Options of `new Shaper(name, options)`. */
export const shaperOptionsSchema = z.strictObject({
  ...lineOptionsSchema.shape,
  ...redisOptionsSchema.shape,
  /**
   * The Redis in which processes share the lines: a URL, ioredis options, an ioredis Redis or Cluster. Default: the lines are
   * in the memory of this process.
   */
  connection: redisOptionsSchema.shape.connection.optional(),
  /** The clock of a line in memory. Default: the monotonic clock of this process. Not with a connection: Redis has the clock. */
  clock: z.custom<Clock>(isClock, { error: 'a clock with now() and wake()' }).optional(),
})

const ONLY_WITH_CONNECTION = ['prefix', 'shards', 'lookAheadMs'] as const

/** @throws InvalidOptionsError, also for options that exclude each other */
export function parseShaperOptions(input: ShaperOptions): ShaperSettings {
  const settings = parseOptions(shaperOptionsSchema, input, 'new Shaper')
  if (settings.connection === undefined) {
    // For example an environment variable that is not set: every process would then have its own lines.
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
   * Identifies the job: a request with the same id, key, data and cost gets the first answer again. It becomes part of names
   * in Redis and BullMQ, where `:` separates, and of URLs, where `/` does. Default: 32 hexadecimal digits, 24 of them random.
   */
  id: z
    .string()
    .regex(
      JOB_ID,
      'letters, digits, _ and -, 1 to 128 of them (no : and no /, which divide names in Redis and URLs)',
    )
    .optional(),
  /** Units of the capacity that the job takes, and intervals until the next departure. Default: 1. */
  cost: z.int().min(1).max(1_000_000_000).optional(),
  /**
   * What the job counts in quotas of other units, such as `{ tokens: 1200 }`: up to 8 units, whole numbers from 1 to
   * 1,000,000,000. In a unit that it does not name it counts what the rule says; a unit that no quota has is ignored. Default: none.
   */
  costs: costsSchema.optional(),
  /** Rejects the job if it cannot depart within this time, in milliseconds, and expires it if it has not. Default: none. */
  deadlineMs: milliseconds.optional(),
  attempts: attempts.optional(),
  backoff: backoffSchema.optional(),
  timeoutMs: milliseconds.optional(),
  /**
   * The requesting span in W3C Trace Context, for the handler to link its own span to. It is kept with the job; requests are
   * the same whatever it is. Default: none.
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

/** Options of `freeze`. */
export const freezeOptionsSchema = z.strictObject({
  /** Cuts a longer freeze to this, in milliseconds: for freezes that the other side asks for. Default: no cut. */
  atMostMs: milliseconds.optional(),
})

const cost = z.int().min(1).max(1_000_000_000).default(1)

/** Options of `acquire`. */
export const acquireOptionsSchema = z.strictObject({
  /** Units of the capacity that the turn takes while it waits, and intervals until the next departure. Default: 1. */
  cost,
  /** As in `enqueue`. Default: none. */
  costs: costsSchema.optional(),
  /**
   * How long the turn may hold its place, in milliseconds, where the limit says how many may be at once; then it loses it, with
   * the event `holdExpired`. Default: ten minutes.
   */
  holdMs: milliseconds.default(DEFAULT_HOLD / MILLISECOND),
  /**
   * Refused at once if the turn cannot come within this time, in milliseconds. On a shared line the round trip takes some
   * of it: below 50, even a free turn may come too late. Default: no limit.
   */
  timeoutMs: milliseconds.optional(),
  /** Gives the place in the line back when it is aborted. Default: none. */
  signal: z.instanceof(AbortSignal, { error: 'an AbortSignal' }).optional(),
})

/** Options of `tryAcquire`, which on a shared line takes some milliseconds, and 200 at most. */
export const tryAcquireOptionsSchema = acquireOptionsSchema.pick({ cost: true, costs: true, holdMs: true })

/** Options of `job`, `cancel` and `explain`. */
export const findOptionsSchema = z.strictObject({
  /**
   * A key: the job is looked for among those of its first segment, which has ids of its own. Needed where several first segments use
   * one id; without it the job is found that took the id first, while that is remembered. Default: none.
   */
  key: z.string().optional(),
})

/** Options of `settle`. */
export const settleOptionsSchema = findOptionsSchema.extend({
  /** `job.fence` of the start that is meant: no other is settled instead. Default: the one that runs. */
  fence: z.int().min(1).optional(),
  /**
   * The number of the attempt, from 1 on. After a freeze or a crash the same number is used again: such an attempt can be settled
   * only with its fence. By default the number is not checked.
   */
  attempt: attempts.optional(),
})

/** What a forecast is asked for. */
export const forecastOptionsSchema = enqueueOptionsSchema.pick({ cost: true, costs: true })

/** Options of `line`. */
export const peekOptionsSchema = z.strictObject({
  /** The most jobs to list, 1 to 200. Default: 50. */
  limit: z.int().min(1).max(200).default(50),
})

/** Options of `close`. */
export const closeOptionsSchema = z.strictObject({
  /**
   * How long the lines may drain, in milliseconds. Then jobs that wait are cancelled, and handlers that run are aborted:
   * their jobs fail, or on a shared line go back to it with their attempt. Default: jobs that wait are cancelled at once,
   * and handlers run to their end.
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

/** @throws InvalidOptionsError */
export function parseWork(handler: unknown, input: WorkOptions): WorkSettings {
  if (typeof handler !== 'function') {
    throw new InvalidOptionsError(`work: expected the handler to be a function, got: ${describe(handler)}`)
  }
  return parseOptions(workOptionsSchema, input, 'work')
}

/** @throws InvalidOptionsError */
export function parseClose(input: CloseOptions): z.output<typeof closeOptionsSchema> {
  return parseOptions(closeOptionsSchema, input, 'close')
}

export type ShaperOptions = z.input<typeof shaperOptionsSchema>
export type ShaperSettings = Readonly<z.output<typeof shaperOptionsSchema>>
export type EnqueueSettings = Readonly<z.output<typeof enqueueOptionsSchema>>
export type EnqueueOptions = z.input<typeof enqueueOptionsSchema>
export type AcquireOptions = z.input<typeof acquireOptionsSchema>
export type TryAcquireOptions = z.input<typeof tryAcquireOptionsSchema>
export type FreezeOptions = z.input<typeof freezeOptionsSchema>
export type ForecastOptions = z.input<typeof forecastOptionsSchema>
export type FindOptions = z.input<typeof findOptionsSchema>
export type SettleOptions = z.input<typeof settleOptionsSchema>
export type LineOptions = z.input<typeof peekOptionsSchema>
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
