import { basename } from 'node:path'
import type { Config } from '../config/config.ts'
import { formatPath } from '../config/paths.ts'
import type { LimitInput } from '../core/limit.ts'
import { BASE_ORIGINS, type BaseOrigin } from '../core/rule-view.ts'
import { Shaper } from '../shaper/shaper.ts'

/** A layer of the rule book, and all that is in it. */
export interface LimitLayer {
  readonly origin: BaseOrigin
  readonly limits: Readonly<Record<string, LimitInput>>
  /** Who says so; absent: this process. */
  readonly by?: string
}

/**
 * The layers that a configuration fills, those that it says nothing of left out. Limits that only flags know are of this
 * one process, like those of code: they may not replace what the file of another says.
 */
export function limitLayers(
  config: Pick<Config, 'limits' | 'hiddenLimits' | 'origins' | 'file'>,
): LimitLayer[] {
  const { limits, hiddenLimits, origins, file } = config
  const said = Object.entries(limits)
  return BASE_ORIGINS.flatMap((origin) => {
    const own = said.filter(([pattern]) => layerOf(origins[formatPath(['limits', pattern])]) === origin)
    // Processes with the same file say the same of it, whatever the environment of one of them adds.
    const inLayer = Object.fromEntries(origin === 'file' ? [...Object.entries(hiddenLimits), ...own] : own)
    if (Object.keys(inLayer).length === 0) return []
    const by = origin === 'file' && file !== undefined ? { by: plain(basename(file)) } : {}
    return [{ origin, limits: inLayer, ...by }]
  })
}

/** The shaper that a configuration describes. @throws InvalidOptionsError or InvalidLimitError */
export function openShaper(config: Config): Shaper {
  const { name, jobDefaults, redis, prefix, shards } = config
  const layers = limitLayers(config)
  const limits = layers.find(({ origin }) => origin === 'code')?.limits ?? {}
  const others = layers.filter(({ origin }) => origin !== 'code')
  const moreLimits = others.map(({ origin, ...layer }) => ({ ...layer, from: origin }))
  const line = { limits, moreLimits, jobDefaults }
  return new Shaper(name, redis === undefined ? line : { ...line, connection: redis, prefix, shards })
}

function layerOf(origin: Config['origins'][string] | undefined): BaseOrigin {
  return origin === 'file' || origin === 'environment' ? origin : 'code'
}

/** The name of a file may hold anything. */
function plain(name: string): string {
  return name.replace(/[\p{Control}\p{Surrogate}]/gu, '?')
}
