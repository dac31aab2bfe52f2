import { SECOND } from '../../core/duration.ts'
import { BlockingClients } from '../connection/blocking-clients.ts'
import type { Connection } from '../connection/connection.ts'
import { asBackendError } from '../connection/redis-errors.ts'
import { shardKey } from '../scripts/keys.ts'

/** Waits for the markers that scripts leave when something becomes due earlier than schedulers know. */
export class Wakes {
  readonly #tags: readonly string[]
  readonly #clients: BlockingClients

  constructor(connection: Connection, tags: readonly string[]) {
    this.#clients = new BlockingClients(connection)
    this.#tags = tags
  }

  /** Resolves with a marker of that name, or after `atMost` microseconds. @throws BackendUnavailableError */
  async next(shard: number, marker: 'wake' | 'vacancy', atMost: number): Promise<void> {
    try {
      // 0 would wait for ever.
      const seconds = Math.max(0.001, atMost / SECOND)
      const key = shardKey(this.#tags[shard]!, marker)
      await this.#clients.wait(shard, atMost, (client) => client.blpop(key, seconds))
    } catch (error) {
      throw asBackendError(error)
    }
  }

  /** Fails the waits in a shard; resolves when the store can give them no marker any more. */
  end(shard: number): Promise<void> {
    return this.#clients.end(shard)
  }

  stop(): void {
    this.#clients.stop()
  }
}
