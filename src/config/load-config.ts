import { type Complaint, checkSettings } from './check-settings.ts'
import type { Config } from './config.ts'
import { type ConfigProblem, InvalidConfigError } from './config-error.ts'
import {
  type ConfigBytes,
  type ConfigLocation,
  decodeConfig,
  locateConfig,
  missingFile,
  readConfigBytes,
} from './config-file.ts'
import { fieldsOf } from './fields.ts'
import { Layers } from './layers.ts'
import type { ConfigFlags } from './names.ts'
import { formatPath, type SettingPath } from './paths.ts'
import { configSchema, type Settings } from './schema.ts'
import { YamlFile } from './yaml-file.ts'

/** The place of a value that no layer has, if there is no file. */
const UNPLACED = 'configuration'

/** The sources of a configuration. */
export interface ConfigSources {
  /**
   * Path of the file. Default: `VELVET_ROPE_CONFIG`, otherwise `velvet-rope.yaml` in the working folder if it exists.
   */
  readonly file?: string
  /** The working folder. Default: that of the process. */
  readonly cwd?: string
  /** Environment variables. */
  readonly env: Readonly<NodeJS.ProcessEnv>
  /** Settings from the command line. Default: none. */
  readonly flags?: ConfigFlags
}

/**
 * Loads a configuration: defaults < file < environment `VELVET_ROPE_*` < flags; later layers override earlier ones.
 *
 * @throws InvalidConfigError with all problems, each with its place
 */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const location = locateConfig(sources)
  const found = await readConfigBytes(location)
  if (found === undefined && location.isNamed) throw missingFile(location)
  return composeConfig(location, found, sources)
}

/** The same with the content of the file; undefined if there is none. */
export function composeConfig(
  location: ConfigLocation,
  found: ConfigBytes | undefined,
  { env, flags = {} }: ConfigSources,
): Config {
  const file =
    found === undefined ? undefined : new YamlFile(location.name, decodeConfig(location.name, found.bytes))
  const layers = new Layers(file?.value, env, flags)
  const checked = checkSettings(layers.input)
  if (!checked.ok || layers.problems.length > 0) {
    const complaints = checked.ok ? [] : checked.complaints
    throw new InvalidConfigError([...placed(complaints, layers, file), ...layers.problems])
  }
  const { settings } = checked
  return freeze({
    ...settings,
    ...(found !== undefined && { file: location.path, digest: found.digest }),
    hiddenLimits: hiddenLimits(layers),
    origins: originsOf(settings, layers),
    placeOf: (path: SettingPath, isAboutName?: boolean) =>
      layers.labelOf(path) ?? file?.placeOf(file.offsetOf(path, isAboutName)) ?? UNPLACED,
  })
}

/** Problems of the file in its order, then those of variables and flags. */
function placed(
  complaints: readonly Complaint[],
  layers: Layers,
  file: YamlFile | undefined,
): ConfigProblem[] {
  const problems = complaints.map(({ path, isAboutName, message }) => {
    const label = layers.labelOf(path)
    if (label !== undefined || file === undefined) {
      return { where: label ?? UNPLACED, message, order: Number.POSITIVE_INFINITY }
    }
    const order = file.offsetOf(path, isAboutName)
    return { where: file.placeOf(order), message, order }
  })
  // No subtraction: Infinity minus Infinity is NaN.
  problems.sort((a, b) => (a.order === b.order ? 0 : a.order < b.order ? -1 : 1))
  return problems.map(({ where, message }) => ({ where, message }))
}

function originsOf(settings: Settings, layers: Layers): Config['origins'] {
  const origins = fieldsOf(settings).map(({ path }) => {
    // A list in every layer, overridden as a whole.
    const at = path[0] === 'tokens' ? ['tokens'] : path
    return [formatPath(path), layers.originOf(at)] as const
  })
  return Object.fromEntries(origins)
}

/** The limit of '*' in the file that a variable overrides. An invalid one was never in force and is ignored. */
function hiddenLimits(layers: Layers): Config['hiddenLimits'] {
  const limit = layers.hiddenAt(['limits', '*'])
  const { data } = configSchema.shape.limits.safeParse(limit === undefined ? {} : { '*': limit })
  return data ?? {}
}

function freeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) freeze(inner)
    Object.freeze(value)
  }
  return value
}
