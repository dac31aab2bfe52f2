import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monotonicNow } from '../core/clock.ts'
import type { Account } from './account.ts'

/** A call that the API received. */
export interface ApiCall {
  readonly key: string
  /** Its arrival, in microseconds. */
  readonly at: number
  /** It was answered 429. */
  readonly isRefused: boolean
}

export interface StrictApiOptions {
  readonly accounts: readonly Account[]
  /** The share of the interval by which calls of an account may be too close; negative: stricter than the limit. */
  readonly slack: number
  readonly onCall: (call: ApiCall) => void
}

/**
 * A third-party API on loopback that strictly enforces its limit: a call that comes too soon after the previous one,
 * refused or not, gets 429. `POST /<account>/messages` is limited, `GET /status` is not.
 */
export class StrictApi {
  readonly port: number
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
  }

  static async listen({ accounts, slack, onCall }: StrictApiOptions): Promise<StrictApi> {
    const closest = new Map(accounts.map(({ key, limit }) => [key, limit.interval * (1 - slack)]))
    const last = new Map<string, number>()
    const server = createServer((request, response) => {
      const at = monotonicNow()
      const key = request.url?.split('/')[1] ?? ''
      const gap = closest.get(key)
      request.resume()
      if (gap === undefined) {
        response.writeHead(request.url === '/status' ? 204 : 404).end()
        return
      }
      const isRefused = at - (last.get(key) ?? Number.NEGATIVE_INFINITY) < gap
      last.set(key, at)
      onCall({ key, at, isRefused })
      if (isRefused) response.writeHead(429, { 'Retry-After': '1' }).end()
      else response.writeHead(202).end()
    })
    // If the server closed idle connections, it could close one on which a call is just being sent.
    server.keepAliveTimeout = 0
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    return new StrictApi(server)
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}
