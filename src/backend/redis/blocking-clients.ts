import type { Client } from './client-profiles.ts'
import type { Connection } from './connection.ts'

/** With Redis away a connection may never close; so long its end is waited for. */
const LONGEST_END_MS = 500

/** A client for each shard that somebody waits in, made when it is first needed: one that waits can do nothing else. */
export class BlockingClients {
  readonly #connection: Connection
  readonly #clients = new Map<number, Client>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  of(shard: number): Client {
    let client = this.#clients.get(shard)
    if (client === undefined) {
      client = this.#connection.blocking()
      this.#clients.set(shard, client)
    }
    return client
  }

  /** Whoever waits in the shard fails; resolves when the connection was closed, or within half a second where Redis is away. */
  async end(shard: number): Promise<void> {
    const client = this.#clients.get(shard)
    this.#clients.delete(shard)
    if (client === undefined || client.status === 'end') return
    let timer: NodeJS.Timeout | undefined
    const ended = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LONGEST_END_MS)
      client.once('end', resolve)
    })
    client.disconnect()
    await ended
    clearTimeout(timer)
  }

  /** Whoever waits fails. */
  stop(): void {
    for (const client of this.#clients.values()) client.disconnect()
    this.#clients.clear()
  }
}
