import { randomBytes } from 'node:crypto'
import { SECOND } from '../../core/duration.ts'
import { BlockingClients } from '../connection/blocking-clients.ts'
import type { Connection } from '../connection/connection.ts'
import { asBackendError } from '../connection/redis-errors.ts'
import { inboxKey } from '../scripts/keys.ts'
import type { HandedJob } from '../verbs/handed-job.ts'

const MOST = 100

/** Names a process, or rather one shaper in it, among all that share its lines. */
export function makeCallerName(): string {
  return randomBytes(9).toString('base64url')
}

/** The id of a turn says in which process its caller waits; no id of a job can look like it. */
export function makeTurnId(caller: string): string {
  return `~${caller}~${randomBytes(12).toString('base64url')}`
}

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

  /** Resolves with the turns that have come, or with none after `atMost` microseconds. @throws BackendUnavailableError */
  async next(shard: number, caller: string, atMost: number): Promise<HandedTurn[]> {
    try {
      const inbox = inboxKey(this.#tags[shard]!, caller)
      const came = await this.#clients.wait(shard, atMost, (client) =>
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

/** Reads id, epoch and key, of which only the key may hold spaces. */
function parse(text: string): HandedTurn {
  const [id = '', epoch = ''] = text.split(' ', 2)
  return { id, epoch: Number(epoch), key: text.slice(id.length + epoch.length + 2) }
}
