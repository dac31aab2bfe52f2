import { SECOND } from '../../core/duration.ts'
import type { Client } from './client-profiles.ts'
import type { Connection } from './connection.ts'
import { shardKey } from './keys.ts'
import { asBackendError } from './redis-errors.ts'

/** Waits for the markers that scripts leave when something became due earlier than schedulers knew. */
export class Wakes {
  readonly #connection: Connection
  readonly #tags: readonly string[]
  /** One client per shard: each waits in Redis. */
  readonly #clients = new Map<number, Client>()

  constructor(connection: Connection, tags: readonly string[]) {
    this.#connection = connection
    this.#tags = tags
  }

  /** Resolves with a marker, or after `atMost` microseconds. @throws BackendUnavailableError */
  async next(shard: number, atMost: number): Promise<void> {
    let client = this.#clients.get(shard)
    if (client === undefined) {
      client = this.#connection.blocking()
      this.#clients.set(shard, client)
    }
    try {
      // 0 would wait for ever.
      await client.blpop(shardKey(this.#tags[shard]!, 'wake'), Math.max(0.001, atMost / SECOND))
    } catch (error) {
      throw asBackendError(error)
    }
  }

  stop(): void {
    for (const client of this.#clients.values()) client.disconnect()
    this.#clients.clear()
  }
}
