import type { Config } from '../config/config.ts'
import { Meter } from '../meter/meter.ts'
import type { Shaper } from '../shaper/shaper.ts'

/**
 * The meter beside the shaper that a configuration describes: where its lines are, and under its rule book, so that a
 * change of a limit reaches both.
 *
 * @throws InvalidOptionsError
 */
export function openMeter({ name, redis, prefix }: Config, { limits }: Shaper): Meter {
  return new Meter(name, redis === undefined ? { limits } : { limits, connection: redis, prefix })
}
