import { BackendUnavailableError, ForeignValueError, VelvetRopeError } from '../core/errors.ts'
import { messageOf, toError } from '../core/thrown.ts'

/**
 * Converts an error of PostgreSQL or its client. The message repeats nothing of the original, which may contain keys;
 * the cause does, without the parameters that some clients attach.
 */
export function asStoreError(thrown: unknown, table: string): Error {
  const error = toError(thrown)
  if (error instanceof VelvetRopeError) return error
  const cause = withoutStatement(error)
  const code = codeOf(error)
  if (code === undefined || !SQL_STATE.test(code)) {
    return new BackendUnavailableError(`PostgreSQL is unavailable: ${reasonOfClient(error, code)}`, { cause })
  }
  if (FOREIGN.has(code)) {
    return new ForeignValueError(`the table ${table} was not created by velvet-rope: its columns differ`, {
      cause,
    })
  }
  if (MISSING.has(code)) {
    const message = `the table ${table} does not exist: call setup() of the store once, as a role that may create it`
    return new BackendUnavailableError(message, { cause })
  }
  const reason = STATES[code] ?? STATES[code.slice(0, 2)] ?? 'it rejected the statement'
  return new BackendUnavailableError(`PostgreSQL is unavailable: ${reason} (SQLSTATE ${code})`, { cause })
}

/** Two statements conflicted; this one was rolled back and may be retried. */
export function isConflict(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return code === '40001' || code === '40P01'
}

/** An earlier statement of the same transaction has failed. */
export function isAfterFailure(thrown: unknown): boolean {
  return codeOf(thrown) === '25P02'
}

/** The connection does not know a prepared statement of that name, or has a different one. */
export function isUnprepared(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return code === '26000' || code === '42P05'
}

/** Another client created it at the same time. */
export function isCreatedTwice(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return code === '42P07' || code === '42710' || code === '23505'
}

const SQL_STATE = /^[0-9A-Z]{5}$/
/** undefined_table, invalid_schema_name */
const MISSING = new Set(['42P01', '3F000'])
/** undefined_column, datatype_mismatch, wrong_object_type, invalid_column_reference, not_null_violation */
const FOREIGN = new Set(['42703', '42804', '42809', '42P10', '23502'])

const LOST = 'the connection has lost a prepared statement; see the option prepare'

/** By SQLSTATE, or by its class (the first two characters). */
const STATES: Readonly<Record<string, string>> = {
  '08': 'the connection was lost',
  '25006': 'it is read-only: a replica, or a read-only transaction',
  '25': 'the transaction of the client has failed',
  '26': LOST,
  '28': 'it rejected the user',
  '3D': 'the database does not exist',
  '40': 'the statement was rolled back because of another one',
  '42P05': LOST,
  '42501': 'its user lacks a privilege on the table or the schema',
  '53': 'its disk, memory or connections are exhausted',
  '55P03': 'a lock was not acquired in time (lock_timeout)',
  '57014': 'the statement was cancelled, or took too long (statement_timeout)',
  '57': 'it is starting or shutting down',
  '58': 'it has a file system error',
}

/** By the messages of pg and PGlite. */
const CLIENT: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/timeout exceeded when trying to connect|due to connection timeout/i, 'no connection in time'],
  [/query read timeout/i, 'no response in time'],
  [/terminated|connection error/i, 'the connection was lost'],
  [/is closed|was closed|after calling end|is ended/i, 'its client is closed'],
]

function reasonOfClient(error: Error, code: string | undefined): string {
  const known = CLIENT.find(([pattern]) => pattern.test(messageOf(error)))?.[1]
  return known ?? (code === undefined ? 'its client failed' : `the connection was lost (${code})`)
}

function codeOf(thrown: unknown): string | undefined {
  const code: unknown = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Returns the error itself if it has no parameters attached. */
function withoutStatement(error: Error): Error {
  if (!('params' in error || 'query' in error)) return error
  const copy = new Error(messageOf(error))
  copy.name = error.name
  const code = codeOf(error)
  return code === undefined ? copy : Object.assign(copy, { code })
}
