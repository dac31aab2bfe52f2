import type { ConfigProblem } from './config-error.ts'
import { readVariables } from './environment.ts'
import { type ConfigFlags, SETTING_NAMES } from './names.ts'
import { isMapping, isWithin, type SettingPath, valueAt } from './paths.ts'

/** The layer that a value comes from. */
export type Origin = 'default' | 'file' | 'environment' | 'flag'

interface Given {
  readonly path: SettingPath
  readonly origin: 'environment' | 'flag'
  /** Name of the variable or the flag. */
  readonly label: string
}

/**
 * Merges file, environment and flags before they are checked. A higher layer replaces a value as a whole: two limits of
 * one pattern are never merged, and `VELVET_ROPE_LIMITS` replaces all limits of the file.
 */
export class Layers {
  readonly #file: unknown
  /** Higher layers last. */
  readonly #given: Given[] = []
  #input: unknown
  /** Variables that are malformed or unknown. */
  readonly problems: readonly ConfigProblem[]

  constructor(
    file: Readonly<Record<string, unknown>> | undefined,
    env: Readonly<NodeJS.ProcessEnv>,
    flags: ConfigFlags,
  ) {
    this.#file = file
    this.#input = file ?? {}
    const { given, problems } = readVariables(env)
    this.problems = problems
    const ambient = env['REDIS_URL']
    // It may be meant for another product, so the file overrides it.
    if (ambient !== undefined && ambient !== '' && valueAt(file, ['redis']) === undefined) {
      this.#put(ambient, { path: ['redis'], origin: 'environment', label: 'REDIS_URL' })
    }
    for (const { setting, variable, value } of given) {
      this.#put(value, { path: setting.path, origin: 'environment', label: variable })
    }
    for (const { path, flag } of SETTING_NAMES) {
      const value = flag === undefined ? undefined : flags[flag.field]
      if (value !== undefined) this.#put(value, { path, origin: 'flag', label: flag!.option })
    }
  }

  get input(): unknown {
    return this.#input
  }

  /** The variable or flag responsible for what is, or is missing, at the path; undefined if none is. */
  labelOf(path: SettingPath): string | undefined {
    const given = this.#givenAt(path)
    if (given !== undefined) return given.label
    // Something is missing next to a given value, and the file does not have it.
    const around = path.slice(0, -1)
    if (around.length === 0 || isGiven(this.#file, around)) return undefined
    return this.#given.findLast((other) => isWithin(other.path, around))?.label
  }

  originOf(path: SettingPath): Origin {
    return this.#givenAt(path)?.origin ?? (isGiven(this.#file, path) ? 'file' : 'default')
  }

  /** The value in the file if only the environment overrides it; undefined if the file has none. */
  hiddenAt(path: SettingPath): unknown {
    const [given, ...others] = this.#given.filter((given) => isWithin(path, given.path))
    const isAlone =
      given?.origin === 'environment' && given.path.length === path.length && others.length === 0
    return isAlone ? valueAt(this.#file, path) : undefined
  }

  #givenAt(path: SettingPath): Given | undefined {
    return this.#given.findLast((given) => isWithin(path, given.path))
  }

  #put(value: unknown, given: Given): void {
    this.#input = withValue(this.#input, given.path, value)
    this.#given.push(given)
  }
}

/** Whether the data contain the value, or a short form of its parent, such as `backoff: 500`. */
function isGiven(data: unknown, path: SettingPath): boolean {
  const [first, ...rest] = path
  if (first === undefined || !isMapping(data)) return data !== undefined
  return isGiven(valueAt(data, [first]), rest)
}

function withValue(data: unknown, [first, ...rest]: SettingPath, value: unknown): unknown {
  if (first === undefined) return value
  // A value that is no mapping stays, and is reported as a fault of the file.
  if (data !== undefined && !isMapping(data)) return data
  return { ...data, [first]: withValue(valueAt(data, [first]), rest, value) }
}
