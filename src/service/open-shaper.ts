import { basename } from 'node:path'
import type { Config } from '../config/config.ts'
import { formatPath } from '../config/paths.ts'
import type { LimitInput } from '../core/limit.ts'
import { BASE_ORIGINS, type BaseOrigin } from '../core/rule-view.ts'
import { Meter } from '../meter/meter.ts'
import { Shaper } from '../shaper/shaper.ts'

/** A layer of the rule book with all its limits. */
export interface LimitLayer {
  readonly origin: BaseOrigin
  readonly limits: Readonly<Record<string, LimitInput>>
  /** Who sets it; if absent, this process. */
  readonly by?: string
}

/**
 * Returns the layers that a configuration fills. Limits from flags belong to this one process, like those from code, so
 * they cannot replace those in the file of another process.
 */
export function limitLayers(
  config: Pick<Config, 'limits' | 'hiddenLimits' | 'origins' | 'file'>,
): LimitLayer[] {
  const { limits, hiddenLimits, origins, file } = config
  const given = Object.entries(limits)
  return BASE_ORIGINS.flatMap((origin) => {
    const own = given.filter(([pattern]) => layerOf(origins[formatPath(['limits', pattern])]) === origin)
    // Processes with the same file load the same layer, even if the environment of one of them overrides limits.
    const inLayer = Object.fromEntries(origin === 'file' ? [...Object.entries(hiddenLimits), ...own] : own)
    if (Object.keys(inLayer).length === 0) return []
    const by = origin === 'file' && file !== undefined ? { by: plain(basename(file)) } : {}
    return [{ origin, limits: inLayer, ...by }]
  })
}

/** Opens the shaper of a configuration. @throws InvalidOptionsError or InvalidLimitError */
export function openShaper(config: Config): Shaper {
  const { name, jobDefaults, redis, prefix, shards } = config
  const layers = limitLayers(config)
  const limits = layers.find(({ origin }) => origin === 'code')?.limits ?? {}
  const others = layers.filter(({ origin }) => origin !== 'code')
  const moreLimits = others.map(({ origin, ...layer }) => ({ ...layer, from: origin }))
  const line = { limits, moreLimits, jobDefaults }
  return new Shaper(name, redis === undefined ? line : { ...line, connection: redis, prefix, shards })
}

/**
 * Opens the meter next to the shaper of a configuration: on the same store and the same rule book, so that a change of
 * a limit applies to both.
 *
 * @throws InvalidOptionsError
 */
export function openMeter({ name, redis, prefix }: Config, { limits }: Shaper): Meter {
  return new Meter(name, redis === undefined ? { limits } : { limits, connection: redis, prefix })
}

function layerOf(origin: Config['origins'][string] | undefined): BaseOrigin {
  return origin === 'file' || origin === 'environment' ? origin : 'code'
}

/** A file name may contain any character. */
function plain(name: string): string {
  return name.replace(/[\p{Control}\p{Surrogate}]/gu, '?')
}
