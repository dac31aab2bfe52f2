import { SECOND } from '../../core/duration.ts'
import { BlockingClients } from './blocking-clients.ts'
import type { Connection } from './connection.ts'
import { shardKey } from './keys.ts'
import { asBackendError } from './redis-errors.ts'

/** Waits for the markers that scripts leave when something became due earlier than schedulers knew. */
export class Wakes {
  readonly #tags: readonly string[]
  readonly #clients: BlockingClients

  constructor(connection: Connection, tags: readonly string[]) {
    this.#clients = new BlockingClients(connection)
    this.#tags = tags
  }

  /** Resolves with a marker, or after `atMost` microseconds. @throws BackendUnavailableError */
  async next(shard: number, atMost: number): Promise<void> {
    const client = this.#clients.of(shard)
    try {
      // 0 would wait for ever.
      await client.blpop(shardKey(this.#tags[shard]!, 'wake'), Math.max(0.001, atMost / SECOND))
    } catch (error) {
      throw asBackendError(error)
    }
  }

  stop(): void {
    this.#clients.stop()
  }
}
