import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { BackendUnavailableError, ForeignValueError, InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { settlesWithin } from '../core/within.ts'
import type { Filled, FillRequest, MeterId, MeterStore, QuotaMeterVerbs, Reading } from './meter-store.ts'
import { PassingPrune } from './passing-prune.ts'
import {
  isOutsideTransactions,
  isPreparing,
  nameOf,
  type PostgresClient,
  type PreparingClient,
} from './postgres-client.ts'
import { asStoreError, isAfterFailure, isConflict, isCreatedTwice, isUnprepared } from './postgres-errors.ts'
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
/** Statements that timed out without a response: this many may run late when the database is back. */
const MOST_UNANSWERED = 1_000
const MOST_PRUNED_AT_ONCE = 1_000
/** Delay before a rolled-back statement is retried. */
const LONGEST_PAUSE_MS = 8

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
  readonly #client: PostgresClient
  readonly #table: string
  readonly #statements: Statements
  /** Undefined if the client does not support it, the option disables it, or a pooler turned out not to support it. */
  #preparing: { readonly client: PreparingClient; readonly names: ReadonlyMap<string, string> } | undefined
  readonly quotas: QuotaMeterVerbs | undefined
  #unanswered = 0
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
    this.#client = client
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
    if (prepare && isPreparing(client)) {
      this.#preparing = { client, names: new Map(fills.map((text) => [text, nameOf(text)])) }
    }
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
      await this.#answer(statement, [], UPKEEP_WITHIN_MS)
    } catch (error) {
      // If two clients create it at once, one may fail despite IF NOT EXISTS. It waited for the other, so now it
      // exists.
      if (!isCreatedTwice(error)) throw asStoreError(error, this.#table)
    }
  }

  async #ask<Rows>(schema: z.ZodType<Rows>, statement: string, params: unknown[], withinMs = VERB_WITHIN_MS) {
    try {
      const answer = await this.#answer(statement, params, withinMs)
      const read = z.object({ rows: schema }).safeParse(answer)
      if (read.success) return read.data.rows
    } catch (error) {
      throw asStoreError(error, this.#table)
    }
    throw new BackendUnavailableError(
      'PostgreSQL is unavailable: its client returned something other than rows',
    )
  }

  async #answer(statement: string, params: unknown[], withinMs: number): Promise<unknown> {
    if (this.#unanswered >= MOST_UNANSWERED) {
      throw new BackendUnavailableError(
        `PostgreSQL is unavailable: ${this.#unanswered} statements wait for it`,
      )
    }
    const asked = { isGivenUp: false }
    const answer = this.#untilNoConflict(statement, params, asked)
    if (await settlesWithin(withinMs, answer)) return answer
    asked.isGivenUp = true
    this.#unanswered++
    const settled = () => void this.#unanswered--
    answer.then(settled, settled)
    throw new BackendUnavailableError(`PostgreSQL is unavailable: no response within ${withinMs} ms`)
  }

  /**
   * At stricter isolation levels, one of two concurrent statements on a row is rolled back and has written nothing. The
   * same holds for one that turned out not to be prepared.
   */
  async #untilNoConflict(
    statement: string,
    params: unknown[],
    asked: { isGivenUp: boolean },
  ): Promise<unknown> {
    for (let conflict: unknown; ; ) {
      const preparing = this.#preparing
      try {
        return await this.#send(statement, params)
      } catch (error) {
        // In a user's transaction a retry is impossible, and the error must be visible.
        if (conflict !== undefined && isAfterFailure(error)) throw conflict
        const isLost = preparing !== undefined && isUnprepared(error)
        if (isLost) this.#prepareNoMore()
        else if (!isConflict(error)) throw error
        // Statements that conflicted once would conflict again.
        else if (!asked.isGivenUp) await setTimeout(Math.random() * LONGEST_PAUSE_MS)
        if (asked.isGivenUp) throw error
        conflict = error
      }
    }
  }

  /**
   * Only fills are prepared. Their plan has no alternatives, so it stays good; the others are cheap to plan, and for a
   * small table PostgreSQL would cache a sequential scan until the table is analyzed.
   */
  #send(statement: string, params: unknown[]): Promise<unknown> {
    const preparing = this.#preparing
    const name = preparing?.names.get(statement)
    if (preparing === undefined || name === undefined) return this.#client.query(statement, params)
    return preparing.client.query({ name, text: statement, values: params })
  }

  #prepareNoMore(): void {
    if (this.#preparing === undefined) return
    this.#preparing = undefined
    process.emitWarning(
      'PostgresMeterStore: a connection did not know a statement that was prepared on it, as behind a pooler, or after ' +
        'DISCARD ALL. From now on fills are not prepared; the option prepare: false avoids the first error.',
    )
  }
}
