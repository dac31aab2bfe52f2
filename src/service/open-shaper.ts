import type { Config } from '../config/config.ts'
import { formatPath } from '../config/paths.ts'
import type { LimitInput } from '../core/limit.ts'
import { Shaper } from '../shaper/shaper.ts'

/** A layer of the rule book, and all that is in it. */
export interface LimitLayer {
  readonly origin: 'code' | 'file'
  readonly limits: Readonly<Record<string, LimitInput>>
}

/**
 * The layer that a configuration fills. Limits that only flags or the environment know are of this one process, like
 * those of code: they may not replace what the file of another says.
 */
export function limitLayer({ limits, origins }: Pick<Config, 'limits' | 'origins'>): LimitLayer {
  const isFromFile = Object.keys(limits).some(
    (pattern) => origins[formatPath(['limits', pattern])] === 'file',
  )
  return { origin: isFromFile ? 'file' : 'code', limits }
}

/** The shaper that a configuration describes. @throws InvalidOptionsError or InvalidLimitError */
export function openShaper(config: Config): Shaper {
  const { name, jobDefaults, redis, prefix, shards } = config
  const { limits, origin } = limitLayer(config)
  const line = { limits, limitsFrom: origin, jobDefaults }
  return new Shaper(name, redis === undefined ? line : { ...line, connection: redis, prefix, shards })
}
