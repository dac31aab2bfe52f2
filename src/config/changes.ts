import { quote } from '../core/describe.ts'
import type { Config } from './config.ts'
import { fieldsOf } from './fields.ts'
import { formatPath, type SettingPath } from './paths.ts'

/** A setting that differs between two configurations. Secrets are hidden. */
export interface ConfigChange {
  /** `work.concurrency`, `limits["stripe/acct_42"]`. */
  readonly path: string
  /** Absent if it is new. */
  readonly before?: string
  /** Absent if it was removed. */
  readonly after?: string
  /** Whether it takes effect while the process runs; otherwise at its next start. */
  readonly isLive: boolean
}

/** Returns the differences in the order of `after`; removed settings come last. */
export function changesBetween(before: Config, after: Config): readonly ConfigChange[] {
  const old = new Map(fieldsOf(before).map((field) => [formatPath(field.path), field]))
  const changes: ConfigChange[] = []
  for (const { path: at, identity, text } of fieldsOf(after)) {
    const path = formatPath(at)
    const was = old.get(path)
    old.delete(path)
    if (was?.identity === identity) continue
    // A changed password looks the same, because it is hidden.
    const shown = was?.text === text ? `${text} (changed)` : text
    changes.push({ path, ...(was && { before: was.text }), after: shown, isLive: isLive(at) })
  }
  for (const [path, was] of old) changes.push({ path, before: was.text, isLive: isLive(was.path) })
  return Object.freeze(changes)
}

/** Formats each change as a line for the log: `limits["stripe"]: 50, 25/s -> 50, 30/s`. */
export function renderChanges(changes: readonly ConfigChange[]): string[] {
  return changes.map(({ path, before, after, isLive }) => {
    const what =
      before === undefined
        ? `${show(after)} (new)`
        : after === undefined
          ? `${show(before)} (removed)`
          : `${show(before)} -> ${show(after)}`
    return `${path}: ${what}${isLive ? '' : ' (takes effect at the next start)'}`
  })
}

const LIVE = new Set<PropertyKey>(['limits', 'tokens', 'forward'])

function isLive([top, second]: SettingPath): boolean {
  return LIVE.has(top!) || (top === 'log' && second === 'level')
}

/** Text from a file must not add lines to a log or flood it. */
function show(text = ''): string {
  return text.length > 200 || quote(text).length > text.length + 2 ? quote(text) : text
}
