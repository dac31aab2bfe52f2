import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { BackendUnavailableError, ForeignValueError, InvalidOptionsError } from '../core/errors.ts'
import { parseOptions } from '../core/options.ts'
import { settlesWithin } from '../core/within.ts'
import type { Filled, FillRequest, MeterId, MeterStore, Reading } from './meter-store.ts'
import { PassingPrune } from './passing-prune.ts'
import {
  isOutsideTransactions,
  isPreparing,
  nameOf,
  type PostgresClient,
  type PreparingClient,
} from './postgres-client.ts'
import { asStoreError, isAfterFailure, isConflict, isCreatedTwice, isUnprepared } from './postgres-errors.ts'
import { filledRow, goneRow, lookRow, noRow, readingRow } from './postgres-rows.ts'
import { quoteTable, type Statements, statementsFor } from './postgres-statements.ts'

export interface PostgresMeterStoreOptions {
  /** `'<table>'` or `'<schema>.<table>'`, of letters, digits and `_`. Default: `velvet_rope_meters`. */
  readonly table?: string
  /**
   * A Pool or Client of `pg` prepares the fill once for each connection: to plan it takes five times as long as to run it.
   * `false` where a pooler lends connections for one transaction and knows of no prepared statements, such as pgbouncer
   * before 1.21. Default: true.
   */
  readonly prepare?: boolean
}

const optionsSchema = z.strictObject({
  table: z.string().default('velvet_rope_meters'),
  prepare: z.boolean().default(true),
})

const VERB_WITHIN_MS = 1_500
/** Creating may wait for locks, and many rows may have to go. */
const UPKEEP_WITHIN_MS = 30_000
/** Statements that were given up and not answered yet: as many as may be run late when the database comes back. */
const MOST_UNANSWERED = 1_000
const MOST_PRUNED_AT_ONCE = 1_000
/** Before a statement is made again that another has undone. */
const LONGEST_PAUSE_MS = 8

/**
 * Levels of meters in a table of PostgreSQL 13 or newer: each verb is one statement and one round trip, with the clock
 * of the database, and exact under any number of clients at every isolation level.
 *
 * Give it a Pool of `pg`, best with a `connectionTimeoutMillis` and a `statement_timeout` of its own. A client inside a
 * transaction works: the level is then as the transaction leaves it, and others wait for its end; `prune` is then yours
 * to call. Every fill writes the row of its key, also one that is refused; one that holds nothing goes with the next pruning.
 *
 * Every verb answers or throws BackendUnavailableError within two seconds. A statement without an answer may still
 * run, late: the level is then higher than its callers were told, never lower.
 */
export class PostgresMeterStore implements MeterStore {
  readonly #client: PostgresClient
  readonly #table: string
  readonly #statements: Statements
  /** Undefined: the client cannot, or should not, or has turned out to be connected through somebody who cannot. */
  #preparing: { readonly client: PreparingClient; readonly name: string } | undefined
  #unanswered = 0
  /** Undefined where the client may be in the middle of a transaction. */
  readonly #passing: PassingPrune | undefined

  /** @throws InvalidOptionsError */
  constructor(client: PostgresClient, options: PostgresMeterStoreOptions = {}) {
    if (typeof client?.query !== 'function') {
      throw new InvalidOptionsError(
        'new PostgresMeterStore: expected client to have query(text, params), as a Pool of pg or a PGlite has, ' +
          `got: ${describe(client)}`,
      )
    }
    this.#client = client
    const { table, prepare } = parseOptions(optionsSchema, options, 'new PostgresMeterStore')
    this.#table = quoteTable(table)
    this.#statements = statementsFor(this.#table)
    if (isOutsideTransactions(client)) this.#passing = new PassingPrune(() => this.prune())
    if (prepare && isPreparing(client)) this.#preparing = { client, name: nameOf(this.#statements.fill) }
  }

  /**
   * Creates the table and its index where they are missing; a role that may not create may call it once they are
   * there. Any number of processes may do so at once.
   *
   * @throws BackendUnavailableError, within half a minute; ForeignValueError when another table has that name
   */
  async setup(): Promise<void> {
    let found = await this.#look()
    if (!found.has_table) {
      await this.#create(this.#statements.createTable)
      found = await this.#look()
      // Created by another client after the snapshot of the transaction that this one is in: not to be seen before its end.
      if (!found.has_table) return
    }
    if (!(found.has_columns && found.has_key)) {
      throw new ForeignValueError(
        `the table ${this.#table} is not one of ours: its columns, their types or its key are others`,
      )
    }
    if (!found.has_index) await this.#create(this.#statements.createIndex)
  }

  /** @throws BackendUnavailableError, also when `setup` was never called; ForeignValueError */
  async fill(request: FillRequest, now?: number): Promise<Filled> {
    const { name, key, amount, capacity, interval, clamp, block } = request
    const params = [name, key, amount, capacity, interval, clamp, block, now ?? null]
    const answer = await this.#ask(filledRow, this.#statements.fill, params)
    // A time that was passed in is not that of the database, by which the rows of others expire.
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
   * Deletes the rows of levels that have leaked away, a thousand at a time, and answers how many there were. On a Pool
   * or a PGlite fills do so in passing, once a minute from the first on. Where a client may be in a transaction nothing
   * is sent that nobody has asked for: call this from time to time, outside of transactions.
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

  /** The client is the user's, and stays open. Resolves when nothing is asked of it in passing any more. */
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
      // Of two that create it at once one may fail, with IF NOT EXISTS too. It waited for the other, so now it is there.
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
      'PostgreSQL is unavailable: its client answered with something else than rows',
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
    throw new BackendUnavailableError(`PostgreSQL is unavailable: no answer within ${withinMs} ms`)
  }

  /**
   * Where transactions are stricter than by default, one of two that meet at a row is undone, and has written nothing.
   * Neither has one that is not prepared where it was thought to be.
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
        // In a transaction of the user's there is no second try, and he should hear why.
        if (conflict !== undefined && isAfterFailure(error)) throw conflict
        const isLost = preparing !== undefined && isUnprepared(error)
        if (isLost) this.#prepareNoMore()
        else if (!isConflict(error)) throw error
        // Those that met once would meet again.
        else if (!asked.isGivenUp) await setTimeout(Math.random() * LONGEST_PAUSE_MS)
        if (asked.isGivenUp) throw error
        conflict = error
      }
    }
  }

  /**
   * Only the fill is prepared. Its plan has no choices, so that it is good for ever; the others are cheap to plan, and of
   * a table with ten rows PostgreSQL would remember to read all of it, until somebody analyzes it.
   */
  #send(statement: string, params: unknown[]): Promise<unknown> {
    const preparing = this.#preparing
    if (preparing === undefined || statement !== this.#statements.fill) {
      return this.#client.query(statement, params)
    }
    return preparing.client.query({ name: preparing.name, text: statement, values: params })
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
