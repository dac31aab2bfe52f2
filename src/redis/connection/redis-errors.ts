import type { RedisErrorKind } from '../../core/diagnostics.ts'
import { BackendUnavailableError, ForeignValueError, VelvetRopeError } from '../../core/errors.ts'
import { messageOf, toError } from '../../core/thrown.ts'

/**
 * Makes an error of this product from what Redis or ioredis threw; errors of this product and unknown ones stay as they are.
 * ioredis puts the command and its arguments on its errors: the result carries none of them, and so no job data.
 */
export function asBackendError(thrown: unknown): Error {
  const error = toError(thrown)
  if (error instanceof VelvetRopeError) return error
  const message = messageOf(error)
  const word = /^[A-Z_]+(?=[ :]|$)/.exec(message)?.[0] ?? ''
  const cause = withoutCommand(error)
  if (word === 'WRONGTYPE' || word === 'VR_FOREIGN') {
    const what = word === 'WRONGTYPE' ? 'a value of another type' : detailOf(message) || 'a value'
    return new ForeignValueError(`Redis holds something under our names that is not ours: ${what}`, { cause })
  }
  const reason = REPLIES[word] ?? reasonOfClient(error, message)
  return reason === undefined
    ? cause
    : new BackendUnavailableError(`Redis is unavailable: ${reason}`, { cause })
}

/** The time zone of which a script found nothing of use, and when, by the clock of Redis; of an error that `asBackendError` made. */
export function missingZone(error: unknown): { readonly zone: string; readonly at: number } | undefined {
  if (!(error instanceof BackendUnavailableError)) return undefined
  const [, at, zone] = /VR_CALENDAR (\d+) (\S+)/.exec(messageOf(toError(error.cause))) ?? []
  return at === undefined || zone === undefined ? undefined : { zone, at: Number(at) }
}

/** The kind of an error that `asBackendError` made. */
export function redisErrorKind(error: unknown): RedisErrorKind {
  if (error instanceof ForeignValueError) return 'foreign'
  if (!(error instanceof BackendUnavailableError)) return 'other'
  const { message } = error
  if (message.includes('no answer in time')) return 'timeout'
  return REFUSALS.some((reason) => message.includes(reason)) ? 'refused' : 'connection'
}

const MOVING = 'the cluster is moving slots'

/** By the word that an error reply of Redis begins with. */
const REPLIES: Readonly<Record<string, string>> = {
  BUSY: 'a script runs for too long',
  CLUSTERDOWN: 'the cluster is down',
  DENIED: 'protected mode refuses clients from other hosts',
  LOADING: 'it is loading its data',
  MASTERDOWN: 'the replica has lost its master',
  MISCONF: 'it cannot save its data, and refuses writes',
  NOAUTH: 'it wants a password',
  NOPERM: 'its user may not run the commands needed',
  NOREPLICAS: 'too few replicas are connected, and it refuses writes',
  OOM: 'its memory is full (maxmemory)',
  READONLY: 'it is a replica, and refuses writes',
  TRYAGAIN: MOVING,
  VR_CALENDAR: 'it lacks a time zone of a limit, which this process does not know either',
  VR_PARTIAL: 'it holds only a part of the line',
  WRONGPASS: 'the user name or the password is wrong',
}

const REFUSALS: readonly string[] = [...Object.values(REPLIES), 'maxclients']

/** By what ioredis and Node say. */
const CLIENT: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^Command timed out|^Blocking command timed out/, 'no answer in time'],
  [/^connect ETIMEDOUT/, 'it cannot be connected to in time'],
  [/^Connection is closed|^Command aborted|^Socket (timeout|closed)/, 'the connection was lost'],
  [/^Stream isn't writeable|^Cluster isn't ready/, 'not connected'],
  [/^Reached the max retries per request/, 'the connection was lost'],
  [/^Cluster is (ended|disconnect)|^Connection is (aborted|discarded)/, 'the connection was closed'],
  [/^Too many Cluster redirections\. Last error: .*TRYAGAIN/, MOVING],
  [
    /^None of startup nodes|^Failed to refresh slots|^Too many Cluster redirections/,
    'no node of the cluster answers',
  ],
  [/^All sentinels are unreachable/, 'no sentinel answers'],
  [/^ERR max number of clients reached/, 'it has as many clients as it takes (maxclients)'],
  [/^ERR AUTH <password> called without/, 'it has no password, and one was given'],
  [/^Client network socket disconnected before secure TLS/, 'no TLS connection came about'],
]

const NAMES: Readonly<Record<string, string>> = {
  AbortError: 'the connection was lost',
  ClusterAllFailedError: 'no node of the cluster answers',
  MaxRetriesPerRequestError: 'the connection was lost',
}

const SYSTEM_CALLS = new Set(['connect', 'read', 'write', 'getaddrinfo', 'shutdown'])

function reasonOfClient(error: Error, message: string): string | undefined {
  const known = CLIENT.find(([pattern]) => pattern.test(message))?.[1] ?? NAMES[error.name]
  if (known !== undefined) return known
  const code = textIn(error, 'code')
  const call = textIn(error, 'syscall')
  if (call !== undefined && SYSTEM_CALLS.has(call)) return `${call} failed (${code})`
  if (code !== undefined && TLS.test(code)) return `no TLS connection came about (${code})`
  return code !== undefined && SOCKET.test(code) ? `the connection was lost (${code})` : undefined
}

const TLS = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|EPROTO)/
const SOCKET =
  /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|ERR_STREAM_(DESTROYED|WRITE_AFTER_END)|ERR_SOCKET)/

/** The error itself if it carries no command. The stack begins with the message, so it is made anew as well. */
function withoutCommand(error: Error): Error {
  const message = messageOf(error).replace(/, with args beginning with:.*/s, '')
  if (
    !('command' in error || 'lastNodeError' in error || 'previousErrors' in error) &&
    message === error.message
  ) {
    return error
  }
  const copy = new Error(message)
  copy.name = error.name
  const code = textIn(error, 'code')
  return code === undefined ? copy : Object.assign(copy, { code })
}

function detailOf(message: string): string {
  // Redis adds where in which script the error came up.
  return message.replace(/^VR_FOREIGN:? */, '').replace(/ script: [0-9a-f]{40}.*$/s, '')
}

function textIn(error: Error, name: 'code' | 'syscall'): string | undefined {
  const value: unknown = name in error ? Reflect.get(error, name) : undefined
  return typeof value === 'string' ? value : undefined
}
