import { formatListen } from './listen.ts'
import { isMapping, type SettingPath, valueAt } from './paths.ts'
import { configSchema, type Settings } from './schema.ts'
import { hideUserInfo, isSecret } from './secrets.ts'

/** A value of a configuration. */
export interface Field {
  readonly path: SettingPath
  /** For comparison only; never show it. */
  readonly identity: string
  /** For display, without secrets. */
  readonly text: string
}

/** Returns all values that are present, in the order of the schema; an address and a list count as one. */
export function fieldsOf(settings: Settings): Field[] {
  const byName: Record<string, unknown> = {}
  for (const { name, ...token } of settings.tokens) {
    // While a client changes its token, it has two.
    let label = name
    for (let count = 2; label in byName; count++) label = `${name} (${count})`
    byName[label] = token
  }
  const shown = { ...settings, listen: formatListen(settings.listen), tokens: byName }
  return Object.keys(configSchema.shape).flatMap((name) => collect(valueAt(shown, [name]), [name]))
}

function collect(value: unknown, path: SettingPath): Field[] {
  if (value === undefined) return []
  if (isMapping(value)) {
    return Object.entries(value).flatMap(([name, inner]) => collect(inner, [...path, name]))
  }
  return [{ path, identity: JSON.stringify(value), text: textOf(path, value) }]
}

function textOf(path: SettingPath, value: unknown): string {
  if (path[0] === 'redis') return hideUserInfo(String(value))
  if (isSecret(path)) return '***'
  if (!Array.isArray(value)) return String(value)
  return value.length === 0 ? 'none' : value.join(', ')
}
