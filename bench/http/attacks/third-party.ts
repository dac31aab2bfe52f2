import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that jobs call: it never answers below `/slow`, and at once elsewhere. */
export class ThirdParty {
  readonly url: string
  readonly #server: Server
  /** When requests came, by path: milliseconds of `performance.now`. */
  readonly #arrivals = new Map<string, number[]>()

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', ({ url = '' }, answer) => {
      if (url.startsWith('/slow')) return
      this.#arrivals.set(url, [...this.arrivals(url), performance.now()])
      answer.end()
    })
  }

  static async start(): Promise<ThirdParty> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ThirdParty(server)
  }

  arrivals(path: string): readonly number[] {
    return this.#arrivals.get(path) ?? []
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

/** What a service needs so that its jobs may call it. */
export function allowing(thirdParty: string): string {
  return `forward: { allow: ['${thirdParty}'], allowPrivate: ['127.0.0.1'] }`
}
