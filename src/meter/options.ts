import { z } from 'zod'
import { parseDuration } from '../core/duration.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { shaperOptionsSchema } from '../shaper/options.ts'
import type { MeterLimitsInput } from './meter-limits.ts'
import type { MeterStore } from './meter-store.ts'

const DURATION = 'a duration such as 15m or 1h, at most 366 days'

const { connection, prefix, clock } = shaperOptionsSchema.shape

/** Options of `new Meter(name, options)`. */
const meterOptionsSchema = z.strictObject({
  /**
   * Limits by pattern: `{ '*': '100, 10/s', 'login/admin': '5, 1/m' }`; or a live rule book, such as `shaper.limits`,
   * whose changes apply to the next fill. A key without a limit is rejected. Required.
   *
   * When a limit changes, the level stays. The time since the last fill of a key leaks at the slower of the two rates;
   * from the next fill on, even a refused one, it leaks at the new one. A level that had run empty under the old limit
   * before that fill stays empty.
   */
  limits: z.custom<MeterLimitsInput>((limits) => typeof limits === 'object' && limits !== null, {
    error: "a record of pattern and limit, such as { '*': '100, 10/s' }, or a rule book",
  }),
  /**
   * What a fill that does not fit does: `refuse` changes nothing; `clamp` fills to the brim, so that a client that
   * keeps trying stays locked out. It counts as refused either way. Default: `refuse`.
   */
  overflow: z.enum(['refuse', 'clamp']).default('refuse'),
  /** How long a fill that does not fit blocks its key: a duration such as `15m` or `1h`. Default: not at all. */
  blockWhenFull: z.string(DURATION).refine(isDuration, DURATION).transform(parseDuration).optional(),
  /**
   * The Redis in which processes share the levels: a URL, ioredis options, an ioredis Redis or Cluster. Default: levels
   * are in the memory of this process.
   */
  connection,
  /** With a connection: the prefix of every key in Redis, so that several products can share one. Default: `vr`. */
  prefix,
  /**
   * A store for the levels, instead of a connection. It stays open when the meter is closed; if it does not reply
   * within two seconds, or with an invalid verdict, a fill is an error. Default: none.
   */
  store: z
    .custom<MeterStore>(isStore, { error: 'a store with fill(), read(), drain() and close()' })
    .optional(),
  /**
   * The source of time. Default: the monotonic clock of this process. Not allowed with a connection or store, which
   * have their own.
   */
  clock,
})

export type MeterOptions = z.input<typeof meterOptionsSchema>
export type MeterSettings = Readonly<z.output<typeof meterOptionsSchema>>

/** The levels are in one of these, or else in memory. */
const PLACES = ['connection', 'store'] as const

/** @throws InvalidOptionsError, also for options that do not go together */
export function parseMeterOptions(input: MeterOptions): MeterSettings {
  const settings = parseOptions(meterOptionsSchema, input, 'new Meter')
  // An unset address, say: each process would then have its own levels.
  const missing = PLACES.find((field) => field in input && input[field] === undefined)
  if (missing !== undefined)
    throw refused(`expected ${missing} to be given, or to be left out, got: undefined`)
  const places = PLACES.filter((field) => settings[field] !== undefined)
  if (places.length > 1) throw refused('expected a connection or a store, got: both')
  if (places.length > 0 && settings.clock !== undefined) {
    throw refused(`the ${places[0]} has its own clock: expected clock to be undefined, got: one`)
  }
  if (input.prefix !== undefined && settings.connection === undefined) {
    throw refused('prefix needs a connection: expected one as well, got: undefined')
  }
  return settings
}

function refused(message: string): InvalidOptionsError {
  return new InvalidOptionsError(`new Meter: ${message}`)
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text)
    return true
  } catch {
    return false
  }
}

function isStore(store: unknown): boolean {
  return (
    typeof store === 'object' &&
    store !== null &&
    ['fill', 'read', 'drain', 'close'].every((verb) => typeof Reflect.get(store, verb) === 'function')
  )
}
