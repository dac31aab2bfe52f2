import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { BackendUnavailableError, ForeignValueError, InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import type { Filled, FillRequest, MeterId, MeterStore, QuotaMeterVerbs, Reading } from './meter-store.ts'
import { PassingPrune } from './passing-prune.ts'
import { PostgresCalls } from './postgres-calls.ts'
import { isOutsideTransactions, type PostgresClient } from './postgres-client.ts'
import { asStoreError, isCreatedTwice } from './postgres-errors.ts'
import { PostgresMeterQuotas } from './postgres-meter-quotas.ts'
import { quotaStatementsFor } from './postgres-quota-statements.ts'
import { filledRow, goneRow, lookRow, noRow, readingRow } from './postgres-rows.ts'
import { quoteTable, type Statements, statementsFor } from './postgres-statements.ts'

export interface PostgresMeterStoreOptions {
  /** `'<table>'` or `'<schema>.<table>'`, of letters, digits and `_`. Default: `velvet_rope_meters`. */
  readonly table?: string
  /**
   * Whether a Pool or Client of `pg` prepares the fill once per connection: planning it takes five times as long as
   * running it. Use `false` behind a pooler that lends connections per transaction without support for prepared
   * statements, such as pgbouncer before 1.21. Default: true.
   */
  readonly prepare?: boolean
  /**
   * Whether levels of limits with quotas are stored, too: in two more columns, which `setup` adds to a table that has them not. All
   * stores of the table may have it. Default: false, and such limits are refused.
   */
  readonly quotas?: boolean
}

const optionsSchema = z.strictObject({
  table: z.string().default('velvet_rope_meters'),
  prepare: z.boolean().default(true),
  quotas: z.boolean().default(false),
})

const VERB_WITHIN_MS = 1_500
/** Creating may wait for locks, and there may be many rows to delete. */
const UPKEEP_WITHIN_MS = 30_000
const MOST_PRUNED_AT_ONCE = 1_000

/**
 * Stores levels in a table of PostgreSQL 13 or newer: each verb is one statement and one round trip, with the clock of
 * the database, and exact with any number of clients at every isolation level.
 *
 * Pass a Pool of `pg`, preferably with a `connectionTimeoutMillis` and a `statement_timeout`. A client inside a
 * transaction works: the level is then part of the transaction, and others wait for its end; `prune` is then yours to
 * call. Every fill writes the row of its key, even a refused one; an empty row is deleted by the next pruning.
 *
 * Every verb returns or throws BackendUnavailableError within two seconds. A statement that timed out may still run
 * late: the level is then higher than reported, never lower.
 */
export class PostgresMeterStore implements MeterStore {
  readonly #calls: PostgresCalls
  readonly #table: string
  readonly #statements: Statements
  readonly quotas: QuotaMeterVerbs | undefined
  /** Undefined if the client may be within a transaction. */
  readonly #passing: PassingPrune | undefined

  /** @throws InvalidOptionsError */
  constructor(client: PostgresClient, options: PostgresMeterStoreOptions = {}) {
    if (typeof client?.query !== 'function') {
      throw new InvalidOptionsError(
        'new PostgresMeterStore: expected client to have query(text, params), like a Pool of pg or a PGlite, ' +
          `got: ${describe(client)}`,
      )
    }
    const { table, prepare, quotas } = parseOptions(optionsSchema, options, 'new PostgresMeterStore')
    this.#table = quoteTable(table)
    this.#statements = statementsFor(this.#table)
    if (isOutsideTransactions(client)) this.#passing = new PassingPrune(() => this.prune())
    const fills = [this.#statements.fill]
    if (quotas) {
      const statements = quotaStatementsFor(this.#table)
      fills.push(statements.fill)
      this.quotas = new PostgresMeterQuotas(
        statements,
        (schema, statement, params) => this.#ask(schema, statement, params),
        (now) => this.#passing?.pass(now),
      )
    }
    this.#calls = new PostgresCalls(client, prepare ? fills : [])
  }

  /**
   * Creates the table and its index if they are missing; a role without the privilege may call it once they exist. Any
   * number of processes may do so at once.
   *
   * @throws BackendUnavailableError, within half a minute; ForeignValueError if another table has that name
   */
  async setup(): Promise<void> {
    let found = await this.#look()
    if (!found.has_table) {
      await this.#create(this.#statements.createTable)
      found = await this.#look()
      // Created by another client after this transaction's snapshot: not visible before the transaction ends.
      if (!found.has_table) return
    }
    if (!(found.has_columns && found.has_key)) {
      throw new ForeignValueError(
        `the table ${this.#table} is not one of ours: its columns, their types or its key are others`,
      )
    }
    if (!found.has_index) await this.#create(this.#statements.createIndex)
    if (this.quotas !== undefined && !found.has_quotas) await this.#create(this.#statements.addQuotas)
  }

  /** @throws BackendUnavailableError, also when `setup` was never called; ForeignValueError */
  async fill(request: FillRequest, now?: number): Promise<Filled> {
    const { name, key, amount, capacity, interval, clamp, block } = request
    const params = [name, key, amount, capacity, interval, clamp, block, now ?? null]
    const answer = await this.#ask(filledRow, this.#statements.fill, params)
    // A given `now` is not the time of the database, by which the rows of others expire.
    if (now === undefined) this.#passing?.pass(answer.now)
    return answer
  }

  /** @throws as `fill` does */
  read({ name, key }: MeterId, now?: number): Promise<Reading> {
    return this.#ask(readingRow, this.#statements.read, [name, key, now ?? null])
  }

  /** @throws as `fill` does */
  async drain({ name, key }: MeterId): Promise<void> {
    await this.#ask(noRow, this.#statements.drain, [name, key])
  }

  /**
   * Deletes the rows of empty levels, a thousand at a time, and returns their number. On a Pool or a PGlite, fills do
   * so in the background, once a minute. A client that may be within a transaction gets no background statements: call
   * this from time to time, outside of transactions.
   *
   * @throws as `fill` does, but each thousand may take half a minute
   */
  async prune(): Promise<number> {
    let gone = 0
    for (let last = MOST_PRUNED_AT_ONCE; last === MOST_PRUNED_AT_ONCE; gone += last) {
      last = await this.#ask(goneRow, this.#statements.prune, [MOST_PRUNED_AT_ONCE], UPKEEP_WITHIN_MS)
    }
    return gone
  }

  /** The client belongs to the user and stays open. Resolves when no background statement is running. */
  async close(): Promise<void> {
    await this.#passing?.settled()
  }

  async #look() {
    const [found] = await this.#ask(lookRow, this.#statements.look, [this.#table], UPKEEP_WITHIN_MS)
    return found
  }

  async #create(statement: string): Promise<void> {
    try {
      await this.#calls.answer(statement, [], UPKEEP_WITHIN_MS)
    } catch (error) {
      // If two clients create it at once, one may fail despite IF NOT EXISTS. It waited for the other, so now it
      // exists.
      if (!isCreatedTwice(error)) throw asStoreError(error, this.#table)
    }
  }

  async #ask<Rows>(schema: z.ZodType<Rows>, statement: string, params: unknown[], withinMs = VERB_WITHIN_MS) {
    try {
      const answer = await this.#calls.answer(statement, params, withinMs)
      const read = z.object({ rows: schema }).safeParse(answer)
      if (read.success) return read.data.rows
    } catch (error) {
      throw asStoreError(error, this.#table)
    }
    throw new BackendUnavailableError(
      'PostgreSQL is unavailable: its client returned something other than rows',
    )
  }
}
