import { fieldsOf } from './fields.ts'
import type { Origin } from './layers.ts'
import { formatPath, type SettingPath } from './paths.ts'
import type { Settings } from './schema.ts'

/** What all layers together say, checked and frozen. Its limits are texts, such as `100, 10/s`. */
export interface Config extends Settings {
  /** The file that was read, as an absolute path; absent when there was none. */
  readonly file?: string
  /** SHA-256 of the bytes of the file, hexadecimal: tells whether two processes read the same one. */
  readonly digest?: string
  /** Limits of the file in whose place the environment says others. */
  readonly hiddenLimits: Readonly<Record<string, string>>
  /** Where each value comes from, by its path: `{ listen: 'flag', 'limits["*"]': 'file', ... }`. */
  readonly origins: Readonly<Record<string, Origin>>
  /** Where a setting, or what is around it, stands: `velvet-rope.yaml:3:5`, a variable, a flag; else `configuration`. */
  readonly placeOf: (path: SettingPath, isAboutName?: boolean) => string
}

/** One value of a configuration, for people. Secrets are hidden. */
export interface SettingView {
  readonly path: string
  readonly value: string
  readonly origin: Origin
}

/** Every value that is in force, and where it comes from. */
export function listSettings(config: Config): SettingView[] {
  return fieldsOf(config).map(({ path, text }) => {
    const name = formatPath(path)
    return { path: name, value: text, origin: config.origins[name] ?? 'default' }
  })
}
