import { createHash } from 'node:crypto'

/** A Pool or Client of `pg`, an embedded PGlite, or anything else with this method. */
export interface PostgresClient {
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[] }>
}

/** A client that prepares a named statement once per connection. */
export interface PreparingClient {
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>
}

/**
 * Whether a client is a Pool or Client of `pg`, or compatible. Other clients may misread an object as the text, and a
 * trial would send something within a user's transaction. So it is recognised by its fields: a Pool by its three
 * counts, a Client by the record of its prepared statements; the native one has that elsewhere.
 */
export function isPreparing(client: object): client is PreparingClient {
  return (
    isPool(client) ||
    isObject(at(at(client, 'connection'), 'parsedStatements')) ||
    isObject(at(client, 'namedQueries'))
  )
}

/**
 * Returns the name of a prepared statement. A connection may be shared by several stores, and behind a pooler by
 * several versions of this package: only equal texts have equal names.
 */
export function nameOf(text: string): string {
  return `velvet_rope_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

/**
 * Whether background queries are certain not to run within a user's transaction: a Pool uses a free connection for
 * them, a PGlite delays them until its `transaction()` ends.
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
