import { BackendUnavailableError, ForeignValueError, VelvetRopeError } from '../core/errors.ts'
import { messageOf, toError } from '../core/thrown.ts'

/**
 * What went wrong at PostgreSQL, as one of our errors. Its message repeats nothing of what the server or the client
 * said, which may hold keys; the cause does, without the parameters that some clients hang on it.
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
    return new ForeignValueError(`the table ${table} is not one of ours: its columns are others`, { cause })
  }
  if (MISSING.has(code)) {
    const message = `the table ${table} does not exist: call setup() of the store once, as a role that may create it`
    return new BackendUnavailableError(message, { cause })
  }
  const reason = STATES[code] ?? STATES[code.slice(0, 2)] ?? 'it refused the statement'
  return new BackendUnavailableError(`PostgreSQL is unavailable: ${reason} (SQLSTATE ${code})`, { cause })
}

/** Two statements were in each other's way; this one was undone, and may be tried again. */
export function isConflict(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return code === '40001' || code === '40P01'
}

/** An earlier statement of the same transaction has failed. */
export function isAfterFailure(thrown: unknown): boolean {
  return codeOf(thrown) === '25P02'
}

/** The connection does not know a prepared statement of that name, or knows one that this client has not made. */
export function isUnprepared(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return code === '26000' || code === '42P05'
}

/** Somebody else has created it at the same time. */
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

/** By SQLSTATE, or by its first two characters, which are the class. */
const STATES: Readonly<Record<string, string>> = {
  '08': 'the connection was lost',
  '25006': 'it only reads: a replica, or a read-only transaction',
  '25': 'the transaction of the client has failed',
  '26': LOST,
  '28': 'it does not let the user in',
  '3D': 'the database does not exist',
  '40': 'the statement was undone by another one',
  '42P05': LOST,
  '42501': 'its user lacks a privilege on the table or the schema',
  '53': 'its disk, memory or connections are used up',
  '55P03': 'a lock was not had in time (lock_timeout)',
  '57014': 'the statement was cancelled, or took too long (statement_timeout)',
  '57': 'it is starting or shutting down',
  '58': 'it has trouble with its files',
}

/** By what pg and PGlite say. */
const CLIENT: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/timeout exceeded when trying to connect|due to connection timeout/i, 'it cannot be connected to in time'],
  [/query read timeout/i, 'no answer in time'],
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

/** The error itself if nothing of ours hangs on it. */
function withoutStatement(error: Error): Error {
  if (!('params' in error || 'query' in error)) return error
  const copy = new Error(messageOf(error))
  copy.name = error.name
  const code = codeOf(error)
  return code === undefined ? copy : Object.assign(copy, { code })
}
