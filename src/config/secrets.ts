import { quote } from '../core/describe.ts'
import { nearest } from '../core/options.ts'
import { SCOPES, type Scope } from '../http/wire.ts'
import type { SettingPath } from './paths.ts'

/** Whether the value at a path must not appear in a log. */
export function isSecret(path: SettingPath): boolean {
  const [top, second] = path
  if (top === 'redis') return true
  if (top === 'tokens') return path.at(-1) === 'sha256'
  return top === 'forward' && (second === 'headers' || second === 'signing')
}

/** A misplaced token or password is probably near the right place. */
function isNearSecret(path: SettingPath): boolean {
  return path[0] === 'tokens' || isSecret(path)
}

/** Describes a value for a message about a path, without showing a possible secret. */
export function describeAt(path: SettingPath, value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object') return 'a mapping'
  const isHidden = isNearSecret(path) && !(isScope(path) && scopeMeant(value) !== undefined)
  if (typeof value === 'string')
    return isHidden ? `a text of ${value.length} characters` : quote(hideUserInfo(value))
  return isHidden ? `a ${typeof value}` : String(value)
}

function isScope(path: SettingPath): boolean {
  return path[0] === 'tokens' && path[2] === 'scopes'
}

/** Words for permissions in other products, and the scopes that they correspond to. */
const BY_OTHER_NAMES: ReadonlyMap<string, Scope> = new Map([
  ['write', 'enqueue'],
  ['create', 'enqueue'],
  ['produce', 'enqueue'],
  ['producer', 'enqueue'],
  ['send', 'enqueue'],
  ['view', 'read'],
  ['viewer', 'read'],
  ['get', 'read'],
  ['all', 'admin'],
  ['*', 'admin'],
  ['owner', 'admin'],
  ['root', 'admin'],
])

/** Returns the scope that a word most likely stands for; undefined for text that may be a secret. */
export function scopeMeant(value: unknown): Scope | undefined {
  if (typeof value !== 'string') return undefined
  const word = value.toLowerCase()
  return BY_OTHER_NAMES.get(word) ?? (nearest(word, SCOPES) as Scope | undefined)
}

/** Hides user and password of a URL: `redis://***@cache:6379/2`. */
export function hideUserInfo(text: string): string {
  // To the last @: a password with an unescaped @ is hidden as a whole.
  return text.replace(/:\/\/.*@/s, '://***@')
}
