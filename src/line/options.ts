import { hostname } from 'node:os'
import { z } from 'zod'
import { MILLISECOND } from '../core/duration.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseLayer } from '../core/layered-book.ts'
import type { LimitInput } from '../core/limit.ts'
import type { Layer } from '../core/rule-layers.ts'
import { BASE_ORIGINS } from '../core/rule-view.ts'

/** Who sets a limit: the name of a token, of an operator, of a file. */
export const authorSchema = z
  .string()
  .regex(/^[^\p{Control}\p{Surrogate}]{1,256}$/u, '1 to 256 characters, none of them a control character')

/** Who sets limits where no other name is given: `<hostname>:<pid>`. */
export function thisProcess(): string {
  return `${hostname()}:${process.pid}`
}

export const milliseconds = z
  .number()
  .positive()
  .max(366 * 86_400_000)

/** One hour by default: the other side can write anything into a response. */
export const maxFreezeMs = milliseconds.default(3_600_000)

/** How long a failed job waits: `{ type: 'exponential', delayMs: 1_000 }`, or a number for a fixed delay. */
export const backoffSchema = z.union([
  milliseconds.transform((delayMs) => ({ type: 'fixed' as const, delayMs, maxDelayMs: delayMs, jitter: 0 })),
  z
    .strictObject({
      type: z.enum(['fixed', 'exponential']),
      delayMs: milliseconds,
      /** Where exponential growth ends. Default: one minute, or `delayMs` if that is longer. */
      maxDelayMs: milliseconds.optional(),
      /** Share of the delay that is random. Default: 0.5. */
      jitter: z.number().min(0).max(1).default(0.5),
    })
    .transform(({ maxDelayMs, ...backoff }) => ({
      ...backoff,
      maxDelayMs: maxDelayMs ?? Math.max(60_000, backoff.delayMs),
    })),
])

/** How often a job's handler may be started: 1 to 1,000. */
export const attempts = z.int().min(1).max(1_000)

/** Settings of every job whose `enqueue` gives no other. */
export const jobDefaultsSchema = z.strictObject({
  /** Default: 1, no retries. */
  attempts: attempts.default(1),
  /** Default: 1 s, doubling up to one minute, half of it random. */
  backoff: backoffSchema.prefault({ type: 'exponential', delayMs: 1_000 }),
  /** How long a handler may take before its attempt counts as failed. Default: ten minutes. */
  timeoutMs: milliseconds.default(600_000),
  /**
   * How many ended jobs are remembered of the keys of each first segment: `job(id)` returns them, and their ids stay taken.
   * Default: 1,000.
   */
  keepFinished: z.int().min(0).max(10_000_000).default(1_000),
  /** How long ended jobs are remembered beyond that number, in milliseconds, while there is room. Default: ten minutes. */
  keepFinishedMs: milliseconds.default(600_000),
  /**
   * The room for ended jobs of all keys (on Redis, in each shard). A job takes one, and one more for every 4 KiB of its data and
   * its result. Beyond it, the first segment that has most gives up its oldest. Default: ten times `keepFinished`.
   */
  keepFinishedAtMost: z.int().min(0).max(100_000_000).optional(),
})

/** How many ended jobs are remembered. */
export interface Retention {
  /** Of each first segment. */
  readonly jobs: number
  /** Those that ended within this time are remembered beyond that number; microseconds. */
  readonly time: number
  /** Units of all. */
  readonly most: number
}

/** The bytes of data and result for which an ended job takes one unit more. */
export const RETENTION_UNIT = 4_096

export function retentionOf({
  keepFinished,
  keepFinishedMs,
  keepFinishedAtMost = 10 * keepFinished,
}: Pick<JobDefaults, 'keepFinished' | 'keepFinishedMs' | 'keepFinishedAtMost'>): Retention {
  // With none to remember, none is remembered for a time.
  const time = keepFinished === 0 ? 0 : keepFinishedMs * MILLISECOND
  return { jobs: keepFinished, time, most: keepFinishedAtMost }
}

const limits = z.custom<Readonly<Record<string, LimitInput>>>(
  (limits) => typeof limits === 'object' && limits !== null,
  { error: "a record of pattern and limit, such as { '*': '100, 10/s' }" },
)

/** Options of a line, in memory or on Redis. */
export const lineOptionsSchema = z.strictObject({
  /** Limits by pattern: `{ '*': '100, 10/s', 'twilio/+15551234': '500, 1/s' }`. A key without one is refused. */
  limits,
  /**
   * The layer of the rule book that they fill: `code` (this program), `file` (a configuration file) or
   * `environment`. Later layers override earlier ones. Default: `code`.
   */
  limitsFrom: z.enum(BASE_ORIGINS).default('code'),
  /** Who sets them, for `limits.list` to show. 1 to 256 characters. Default: `<hostname>:<pid>`. */
  limitsBy: authorSchema.default(thisProcess),
  /** Further layers, each at most once. `by`: as `limitsBy`. Default: none. */
  moreLimits: z
    .array(z.strictObject({ limits, from: z.enum(BASE_ORIGINS), by: authorSchema.optional() }))
    .default([]),
  jobDefaults: jobDefaultsSchema.prefault({}),
  /**
   * The largest data of one job, in bytes of its JSON text, 1,024 to 16,777,216; larger ones are refused with a
   * `DataTooLargeError`. Large data block Redis and the event loop, so pass a reference instead. Default: 1,048,576, 1 MiB.
   */
  maxDataBytes: z.int().min(1_024).max(16_777_216).default(1_048_576),
})

/** Options of `work`. */
export const workOptionsSchema = z.strictObject({
  /**
   * Handlers that run at once. Where several first segments of keys have jobs, each leaves some handlers free for the others,
   * and so do the keys of a segment. The rate shapes; this only bounds memory and sockets. Default: 100.
   */
  concurrency: z.int().min(1).max(1_000_000).default(100),
  /**
   * With a connection: whether this process may be elected to hand jobs over to all workers. Where no process may,
   * nothing departs. Without a connection it makes no difference. Default: true.
   */
  scheduler: z.boolean().default(true),
  /**
   * With a connection: how long an unresponsive worker keeps its jobs before other workers get them, in milliseconds, 500
   * to 600,000. Without a connection it makes no difference. Default: 10,000.
   */
  leaseMs: z.int().min(500).max(600_000).default(10_000),
  /**
   * The longest freeze that a handler may ask for, in milliseconds, whatever a `Retry-After` says: a longer FreezeError is
   * cut to this, and `askedMs` of the `frozen` event has what it asked for. Default: one hour.
   */
  maxFreezeMs,
  /**
   * The longest that a handler may take, in milliseconds, whatever time limit its job brought (`timeoutMs`): a longer one is cut
   * to this. Default: none.
   */
  maxTimeoutMs: milliseconds.optional(),
})

export type LineSettings = Readonly<z.output<typeof lineOptionsSchema>>
export type JobDefaults = z.output<typeof jobDefaultsSchema>
export type WorkOptions = z.input<typeof workOptionsSchema>
export type WorkSettings = Readonly<z.output<typeof workOptionsSchema>>

/**
 * The layers of the rule book that a shaper is started with.
 *
 * @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError
 */
export function givenLayers(settings: LineSettings): Layer[] {
  const { limits, limitsFrom, limitsBy, moreLimits } = settings
  const layers = [{ limits, from: limitsFrom, by: limitsBy }, ...moreLimits]
  const twice = layers.find(({ from }, index) => layers.findIndex((other) => other.from === from) < index)
  if (twice !== undefined) {
    throw new InvalidOptionsError(
      `new Shaper: expected limits and moreLimits to be of different layers, got: ${twice.from} twice`,
    )
  }
  return layers.map(({ limits, from, by = limitsBy }) => parseLayer(limits, from, by))
}
