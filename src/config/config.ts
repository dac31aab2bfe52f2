import { fieldsOf } from './fields.ts'
import type { Origin } from './layers.ts'
import { formatPath, type SettingPath } from './paths.ts'
import type { Settings } from './schema.ts'

/** The merged settings, checked and frozen. Limits are in text form, such as `100, 10/s`. */
export interface Config extends Settings {
  /** The absolute path of the file; absent if there was none. */
  readonly file?: string
  /** SHA-256 of the file, hexadecimal: shows whether two processes read the same one. */
  readonly digest?: string
  /** Limits of the file that environment variables override. */
  readonly hiddenLimits: Readonly<Record<string, string>>
  /** The origin of each value by its path: `{ listen: 'flag', 'limits["*"]': 'file', ... }`. */
  readonly origins: Readonly<Record<string, Origin>>
  /**
   * The place of a setting, or else of the mapping around it: `velvet-rope.yaml:3:5`, a variable, a flag; otherwise
   * `configuration`.
   */
  readonly placeOf: (path: SettingPath, isAboutName?: boolean) => string
}

/** A setting for display. Secrets are hidden. */
export interface SettingView {
  readonly path: string
  readonly value: string
  readonly origin: Origin
}

/** Returns all settings in force with their origins. */
export function listSettings(config: Config): SettingView[] {
  return fieldsOf(config).map(({ path, text }) => {
    const name = formatPath(path)
    return { path: name, value: text, origin: config.origins[name] ?? 'default' }
  })
}
