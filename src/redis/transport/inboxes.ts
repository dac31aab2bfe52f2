import { SECOND } from '../../core/duration.ts'
import { BlockingClients } from '../connection/blocking-clients.ts'
import type { Connection } from '../connection/connection.ts'
import { asBackendError } from '../connection/redis-errors.ts'
import type { HandedJob } from '../protocol/shared-backend.ts'
import { inboxKey } from '../scripts/keys.ts'

const MOST = 100

/** A turn that was handed over to the process of its caller. */
export type HandedTurn = HandedJob & { readonly key: string }

/** Waits for the turns that are handed over to one caller, in each of the shards. */
export class Inboxes {
  readonly #tags: readonly string[]
  readonly #clients: BlockingClients

  constructor(connection: Connection, tags: readonly string[]) {
    this.#clients = new BlockingClients(connection)
    this.#tags = tags
  }

  /** Resolves with what has come, or with nothing after `atMost` microseconds. @throws BackendUnavailableError */
  async next(shard: number, caller: string, atMost: number): Promise<HandedTurn[]> {
    try {
      const inbox = inboxKey(this.#tags[shard]!, caller)
      const came = await this.#clients.wait(shard, (client) =>
        client.blmpop(atMost / SECOND, 1, inbox, 'LEFT', 'COUNT', MOST),
      )
      return came === null ? [] : came[1].map(parse)
    } catch (error) {
      throw asBackendError(error)
    }
  }

  stop(): void {
    this.#clients.stop()
  }
}

/** Id, epoch and key; only the key may hold spaces. */
function parse(text: string): HandedTurn {
  const [id = '', epoch = ''] = text.split(' ', 2)
  return { id, epoch: Number(epoch), key: text.slice(id.length + epoch.length + 2) }
}
