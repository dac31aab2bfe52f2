import { systemClock } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { BackendUnavailableError } from '../../core/errors.ts'
import type { Client } from './client-profiles.ts'
import { ClientWaits } from './client-waits.ts'
import type { Connection } from './connection.ts'

/** How long to wait for the end of a connection, which never comes where Redis is away. */
const LONGEST_END_MS = 500
/** A wait that ends without result so long after its limit was ended by the client: the server still goes on with it. Microseconds. */
const OVERDUE = SECOND

/** A client for each shard in which a command waits, made when first needed: a client that waits can do nothing else. */
export class BlockingClients {
  readonly #connection: Connection
  readonly #clients = new Map<number, Client>()
  readonly #waiting = new Map<Client, ClientWaits>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Sends a command that waits in Redis for at most so many microseconds, and answers null then.
   *
   * @throws BackendUnavailableError when its client is ended first
   */
  async wait<Answer>(
    shard: number,
    atMost: number,
    send: (client: Client) => Promise<Answer>,
  ): Promise<Answer> {
    const client = this.#of(shard)
    let until = Number.POSITIVE_INFINITY
    const answer = await this.#send(client, (ready) => {
      until = systemClock.now() + atMost
      return send(ready)
    })
    if (answer === null && systemClock.now() >= until + OVERDUE) this.#giveUp(shard, client)
    return answer
  }

  /**
   * Where the clock of Redis was set back, a wait lasts longer by that, the next ones wait behind it, and what it takes is lost. Over
   * a connection that is dead no wait ends in the server. A new connection helps both.
   */
  #giveUp(shard: number, client: Client): void {
    if (this.#clients.get(shard) === client) this.#clients.delete(shard)
    this.#disconnect(client)
  }

  #send<Answer>(client: Client, send: (client: Client) => Promise<Answer>): Promise<Answer> {
    const waits = this.#waiting.get(client) ?? new ClientWaits()
    this.#waiting.set(client, waits)
    // ioredis would queue the command meanwhile and, where the client is ended then, keep it, with a timer of a minute.
    return waits.add(client.status === 'ready' ? send(client) : becomesReady(client).then(() => send(client)))
  }

  #of(shard: number): Client {
    let client = this.#clients.get(shard)
    if (client === undefined) {
      client = this.#connection.blocking()
      this.#clients.set(shard, client)
    }
    return client
  }

  /** Fails the waits in a shard; resolves when the connection is closed, or within half a second where Redis is away. */
  async end(shard: number): Promise<void> {
    const client = this.#clients.get(shard)
    this.#clients.delete(shard)
    if (client === undefined || client.status === 'end') return
    let timer: NodeJS.Timeout | undefined
    const ended = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LONGEST_END_MS)
      client.once('end', resolve)
    })
    this.#disconnect(client)
    await ended
    clearTimeout(timer)
  }

  /** Fails all waits. */
  stop(): void {
    for (const client of this.#clients.values()) this.#disconnect(client)
    this.#clients.clear()
  }

  #disconnect(client: Client): void {
    client.disconnect()
    const error = new BackendUnavailableError('Redis is unavailable: the connection was closed')
    this.#waiting.get(client)?.fail(error)
    this.#waiting.delete(client)
  }
}

/** Rejects when the connection that is being made, or is made next, fails. */
function becomesReady(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (how: () => void) => {
      client.off('ready', onReady)
      client.off('close', onClose)
      how()
    }
    const onReady = () => settle(resolve)
    const onClose = () =>
      settle(() => reject(new BackendUnavailableError('Redis is unavailable: it cannot be connected to')))
    client.on('ready', onReady)
    client.on('close', onClose)
  })
}
