import type { ConfigProblem } from './config-error.ts'
import { type Environment, readVariables } from './environment.ts'
import { type ConfigFlags, SETTING_NAMES } from './names.ts'
import { isMapping, isWithin, type SettingPath, valueAt } from './paths.ts'

/** Which layer a value comes from. */
export type Origin = 'default' | 'file' | 'environment' | 'flag'

interface Given {
  readonly path: SettingPath
  readonly origin: 'environment' | 'flag'
  /** The variable or the flag. */
  readonly label: string
}

/**
 * What file, environment and flags say together, before it is checked. A higher layer replaces the value that it
 * names as a whole: two limits of one pattern are never mixed, and `VELVET_ROPE_LIMITS` leaves none of the file.
 */
export class Layers {
  readonly #file: unknown
  /** The higher ones last. */
  readonly #given: Given[] = []
  #input: unknown
  /** Variables that cannot be read or that nobody knows. */
  readonly problems: readonly ConfigProblem[]

  constructor(file: Readonly<Record<string, unknown>> | undefined, env: Environment, flags: ConfigFlags) {
    this.#file = file
    this.#input = file ?? {}
    const { given, problems } = readVariables(env)
    this.problems = problems
    const ambient = env['REDIS_URL']
    // Whoever set it may have meant another product: it goes behind the file.
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

  /** The variable or flag that is to blame for what is, or is not, at the path; undefined if none is. */
  labelOf(path: SettingPath): string | undefined {
    const given = this.#givenAt(path)
    if (given !== undefined) return given.label
    // Something is missing beside what was given, and the file says nothing of it.
    const around = path.slice(0, -1)
    if (around.length === 0 || isSaid(this.#file, around)) return undefined
    return this.#given.findLast((other) => isWithin(other.path, around))?.label
  }

  originOf(path: SettingPath): Origin {
    return this.#givenAt(path)?.origin ?? (isSaid(this.#file, path) ? 'file' : 'default')
  }

  /** What the file says at the path where only the environment says something else; undefined if it says nothing. */
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

/** Whether the data hold the value, or a short form of what is around it, such as `backoff: 500`. */
function isSaid(data: unknown, path: SettingPath): boolean {
  const [first, ...rest] = path
  if (first === undefined || !isMapping(data)) return data !== undefined
  return isSaid(valueAt(data, [first]), rest)
}

function withValue(data: unknown, [first, ...rest]: SettingPath, value: unknown): unknown {
  if (first === undefined) return value
  // What is no mapping stays, and is told as a fault of the file.
  if (data !== undefined && !isMapping(data)) return data
  return { ...data, [first]: withValue(valueAt(data, [first]), rest, value) }
}
