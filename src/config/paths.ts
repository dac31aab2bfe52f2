/** The path of a setting: `['limits', 'stripe/acct_42']`. */
export type SettingPath = readonly PropertyKey[]

/** Formats a path for a message: `work.concurrency`, `limits["stripe/acct_42"]`, `tokens[0].scopes`. */
export function formatPath(path: SettingPath): string {
  const text = path.map((part) => {
    if (typeof part === 'number') return `[${part}]`
    const name = String(part)
    return /^\w[\w-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
  })
  return text.join('').replace(/^\./, '')
}

export function isWithin(path: SettingPath, parent: SettingPath): boolean {
  return parent.every((part, index) => path[index] === part)
}

/** Returns the value at a path of plain data; undefined if there is none. */
export function valueAt(data: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Readonly<Record<PropertyKey, unknown>>)[part]
        : undefined,
    data,
  )
}

/** Whether a value is a YAML mapping or a JSON object. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
