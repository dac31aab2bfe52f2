import { setTimeout } from 'node:timers/promises'
import { BackendUnavailableError } from '../core/errors.ts'
import { settlesWithin } from '../core/within.ts'
import { isPreparing, nameOf, type PostgresClient, type PreparingClient } from './postgres-client.ts'
import { isAfterFailure, isConflict, isUnprepared } from './postgres-errors.ts'

/** Statements that timed out without a response: this many may run late when the database is back. */
const MOST_UNANSWERED = 1_000
/** Delay before a rolled-back statement is retried. */
const LONGEST_PAUSE_MS = 8

/** Sends statements through a client of PostgreSQL: each is answered in time, or said to be late, and asked again after a conflict. */
export class PostgresCalls {
  readonly #client: PostgresClient
  /** Undefined if the client does not support it, nothing is to be prepared, or a pooler turned out not to support it. */
  #preparing: { readonly client: PreparingClient; readonly names: ReadonlyMap<string, string> } | undefined
  #unanswered = 0

  /** @param prepared the statements that the client is to prepare once per connection, if it can */
  constructor(client: PostgresClient, prepared: readonly string[]) {
    this.#client = client
    if (prepared.length > 0 && isPreparing(client)) {
      this.#preparing = { client, names: new Map(prepared.map((text) => [text, nameOf(text)])) }
    }
  }

  /** @throws BackendUnavailableError where no answer comes in time, or what the client throws */
  async answer(statement: string, params: unknown[], withinMs: number): Promise<unknown> {
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
