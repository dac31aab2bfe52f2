import type { Config } from '../config/config.ts'
import { Shaper } from '../shaper/shaper.ts'

/** The shaper that a configuration describes. @throws InvalidOptionsError or InvalidLimitError */
export function openShaper({ name, limits, jobDefaults, redis, prefix, shards }: Config): Shaper {
  const line = { limits, limitsFrom: 'file', jobDefaults } as const
  return new Shaper(name, redis === undefined ? line : { ...line, connection: redis, prefix, shards })
}
