import { createHash } from 'node:crypto'

/** A Pool or Client of `pg`, an embedded PGlite, or whatever else has this one method. */
export interface PostgresClient {
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[] }>
}

/** One that prepares a statement once for each connection, where it is given a name for it. */
export interface PreparingClient {
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>
}

/**
 * Whether it is a Pool or Client of `pg`, or made like one. Others may take an object for the text, or for nothing, and to
 * try would be to send something in the middle of a user's transaction. So it is known by what it shows: a Pool by its
 * three counts, a Client by where it notes the names of what it has prepared; the native one notes them elsewhere.
 */
export function isPreparing(client: object): client is PreparingClient {
  return (
    isPool(client) ||
    isObject(at(at(client, 'connection'), 'parsedStatements')) ||
    isObject(at(client, 'namedQueries'))
  )
}

/**
 * The name of a prepared statement. A connection may be shared by several stores, and behind a pooler by several versions
 * of this one: only the same text has the same name.
 */
export function nameOf(text: string): string {
  return `velvet_rope_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

/**
 * Whether what is asked of it in passing is certain to be no part of a transaction that a user has begun: a Pool takes a
 * free connection for it, a PGlite lets it wait for the end of its `transaction()`.
 */
export function isOutsideTransactions(client: object): boolean {
  const isPglite = ['transaction', 'runExclusive'].every((method) => typeof at(client, method) === 'function')
  return isPool(client) || isPglite
}

function isPool(client: object): boolean {
  return ['totalCount', 'idleCount', 'waitingCount'].every((count) => typeof at(client, count) === 'number')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function at(holder: unknown, field: string): unknown {
  return isObject(holder) ? Reflect.get(holder, field) : undefined
}
