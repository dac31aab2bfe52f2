import { quote } from '../core/describe.ts'
import type { SettingPath } from './paths.ts'

/** Whether what stands at a path may be known to nobody who reads a log. */
export function isSecret(path: SettingPath): boolean {
  const [top, second] = path
  if (top === 'redis') return true
  if (top === 'tokens') return path.at(-1) === 'sha256'
  return top === 'forward' && (second === 'headers' || second === 'signing')
}

/** Whoever puts a token or a password in the wrong place puts it somewhere near the right one. */
function isNearSecret(path: SettingPath): boolean {
  return path[0] === 'tokens' || isSecret(path)
}

/** Names a value for the message about a path, without showing what may be a secret. */
export function describeAt(path: SettingPath, value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object') return 'a mapping'
  const isHidden = isNearSecret(path)
  if (typeof value === 'string')
    return isHidden ? `a text of ${value.length} characters` : quote(hideUserInfo(value))
  return isHidden ? `a ${typeof value}` : String(value)
}

/** A URL without its user and password: `redis://***@cache:6379/2`. */
export function hideUserInfo(text: string): string {
  // To the last @: a password in which one was forgotten to be escaped is hidden as a whole.
  return text.replace(/:\/\/.*@/s, '://***@')
}
