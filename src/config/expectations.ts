import type { z } from 'zod'
import { quote } from '../core/describe.ts'
import { nearest } from '../core/options.ts'
import { formatPath, type SettingPath } from './paths.ts'
import { describeAt, scopeMeant } from './secrets.ts'

/** Computes the digest of a token. */
const HASH_HINT = `printf %s "$TOKEN" | sha256sum`

/** Says what was expected at a path, what came, and what may have been meant. */
export function explainValue(issue: z.core.$ZodIssue, path: SettingPath, value: unknown): string {
  if (issue.code === 'invalid_key') {
    const [name] = path.slice(-1)
    const expected = issue.issues[0]!.message.replace(/^expected /, '')
    return `expected each name in ${formatPath(path.slice(0, -1))} to be ${expected}, got: ${quote(String(name))}`
  }
  const what = path.length === 0 ? 'the settings' : formatPath(path)
  const hint = hintFor(issue, path, value)
  const came = describeAt(path, value)
  return `expected ${what} to be ${expectationOf(issue, path)}, got: ${came}${hint === undefined ? '' : `; ${hint}`}`
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
}

/** zod's own messages start like this; others are written for users. */
const ZOD_MESSAGE = /^(?:Invalid (?:input|option|string)|Too (?:small|big)): /

function expectationOf(issue: z.core.$ZodIssue, path: SettingPath): string {
  if (!ZOD_MESSAGE.test(issue.message)) return issue.message
  const isTime = String(path.at(-1)).endsWith('Ms')
  const unit = isTime ? ' ms' : ''
  switch (issue.code) {
    case 'invalid_type': {
      const kind = KINDS[issue.expected] ?? issue.expected
      return isTime && kind.endsWith('number') ? `${kind} of milliseconds` : kind
    }
    case 'invalid_value':
      return issue.values
        .map(String)
        .join(', ')
        .replace(/, ([^,]*)$/, ' or $1')
    case 'too_small': {
      if (issue.origin === 'array') return `a list of ${issue.minimum} or more`
      return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}${unit}`
    }
    case 'too_big':
      return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}${unit}`
    default:
      return issue.message
  }
}

function hintFor(issue: z.core.$ZodIssue, path: SettingPath, value: unknown): string | undefined {
  if (path[0] === 'tokens' && path.at(-1) === 'sha256' && typeof value === 'string') {
    return `if that is the token itself, put its digest here: ${HASH_HINT}`
  }
  if (issue.code === 'invalid_value' && typeof value === 'string') {
    const isScope = path[0] === 'tokens' && path[2] === 'scopes'
    const meant = isScope ? scopeMeant(value) : nearest(value, issue.values.map(String))
    return meant === undefined ? undefined : `did you mean ${meant}?`
  }
  if (issue.code !== 'invalid_type' || !ZOD_MESSAGE.test(issue.message)) return undefined
  if (issue.expected === 'string' && ['number', 'boolean'].includes(typeof value)) return 'put it in quotes'
  if (issue.expected === 'array' && typeof value === 'string' && path[0] !== 'tokens') return 'put it in [ ]'
  return undefined
}

/** Returns the message for an unknown setting, and the known one that was most likely meant. */
export function explainUnknown(
  path: SettingPath,
  key: string,
  known: readonly string[],
): { readonly message: string; readonly meant: string | undefined } {
  const where = path.length === 0 ? '' : ` in ${formatPath(path)}`
  const special =
    path.length === 0 && PATTERN.test(key)
      ? LIMITS_BY_PATTERN
      : BY_OTHER_NAMES.find(({ names, within }) => within === path[0] && names.includes(key))
  const meant = special?.meant ?? nearest(key, known)
  const hint =
    special?.hint ?? (meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${meant}?`)
  // With a misplaced quote, the name contains everything up to the next one.
  const name = meant !== undefined || /^[a-z_-]{1,40}$/i.test(key) ? ` ${quote(key)}` : ''
  return { message: `unknown setting${name}${where}: ${hint}`, meant }
}

/** A pattern of a limit, which is no name of a setting. The message does not show it: it may be more than a name. */
const PATTERN = /[*/]/
const LIMITS_BY_PATTERN = {
  meant: undefined,
  hint: "limits stand under limits, by pattern: limits: { '*': '100, 10/s' }",
}

/** Names from other products. */
const BY_OTHER_NAMES = [
  {
    within: undefined,
    names: ['port', 'host', 'address', 'bind'],
    meant: 'listen',
    hint: 'did you mean listen? It contains host and port: 127.0.0.1:7077',
  },
  {
    within: undefined,
    names: ['rate', 'capacity', 'burst', 'limiter'],
    meant: 'limits',
    hint: "did you mean limits? They contain capacity and rate by pattern: '*': 100, 10/s",
  },
  {
    within: 'tokens',
    names: ['token', 'secret', 'password', 'key', 'value', 'hash', 'digest'],
    meant: 'sha256',
    hint: `did you mean sha256? Only the digest of a token is stored: ${HASH_HINT}`,
  },
]
