import { createConnection, createServer, type Server, type Socket } from 'node:net'

/** How each direction of every connection fares: how long its bytes take, and whether they arrive at all. */
export interface Weather {
  /** Milliseconds from the client to the server. */
  readonly thereMs?: number
  /** Milliseconds from the server to the client. */
  readonly backMs?: number
  /** Bytes vanish without a word, in both directions; new connections are never answered. */
  readonly isBlackHole?: boolean
}

/** A network between clients and one server, which tests cut, silence and slow down. */
export class TcpProxy {
  readonly port: number
  readonly #server: Server
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>()
  #weather: Weather = {}
  #isCut = false

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  /** @param target a port of 127.0.0.1 */
  static async start(target: number): Promise<TcpProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const proxy = new TcpProxy(server, address.port)
    server.on('connection', (client) => proxy.#connect(client, target))
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  set weather(weather: Weather) {
    this.#weather = weather
  }

  /** Ends all connections, and refuses new ones until `mend`. */
  cut(): void {
    this.#isCut = true
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }

  /** Good weather again; connections that lost bytes are ended. */
  mend(): void {
    this.#isCut = false
    if (this.#weather.isBlackHole) for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
    this.#weather = {}
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #connect(client: Socket, target: number): void {
    if (this.#isCut) {
      client.destroy()
      return
    }
    const server = createConnection(target, '127.0.0.1')
    const pair = [client, server] as const
    this.#pairs.add(pair)
    this.#carry(client, server, () => this.#weather.thereMs)
    this.#carry(server, client, () => this.#weather.backMs)
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#pairs.delete(pair)
        for (const either of pair) either.destroy()
      })
    }
  }

  #carry(from: Socket, to: Socket, delayMs: () => number | undefined): void {
    from.on('data', (bytes) => {
      if (this.#weather.isBlackHole) return
      const delay = delayMs() ?? 0
      // All that waits is as late as the first, so nothing overtakes.
      if (delay === 0) to.write(bytes)
      else setTimeout(() => to.writable && to.write(bytes), delay)
    })
  }
}
