import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { Lane } from './tcp-lane.ts'

/** How each direction of every connection fares: how long its bytes take, and whether they arrive at all. */
export interface Weather {
  /** Milliseconds from the client to the server. */
  readonly thereMs?: number
  /** Milliseconds from the server to the client. */
  readonly backMs?: number
  /** Bytes vanish without a word, both ways or one way; new connections are never answered. */
  readonly isBlackHole?: boolean | 'there' | 'back'
  /** Each byte from the server is a segment of its own. */
  readonly inBytes?: boolean
}

/** Replies that get lost, each with the connection that it was sent on. */
export interface Loss {
  /** Bytes in the request whose reply gets lost; absent: any request. */
  readonly match?: string
  /** How many bytes of the reply still arrive: more than none cut a frame in the middle. */
  readonly arriving?: number
  /** How many replies get lost. */
  readonly times: number
  /** Called at each of them. */
  onLost?(): void
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** Bytes of the next reply that still arrive; undefined: all. */
  arriving?: number
}

/** A network between clients and one server, which tests cut, silence and slow down. */
export class TcpProxy {
  readonly port: number
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #target: number
  #weather: Weather = {}
  #loss: (Loss & { readonly arriving: number; left: number }) | undefined
  #isCut = false
  #lost = 0

  private constructor(server: Server, port: number, target: number) {
    this.#server = server
    this.port = port
    this.#target = target
  }

  /** @param target a port of 127.0.0.1 */
  static async start(target: number): Promise<TcpProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const proxy = new TcpProxy(server, address.port, target)
    server.on('connection', (client) => proxy.#connect(client))
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** How many replies `lose` has swallowed. */
  get lost(): number {
    return this.#lost
  }

  set weather(weather: Weather) {
    this.#weather = weather
  }

  /** The next replies get lost. */
  lose(loss: Loss): void {
    this.#loss = { arriving: 0, ...loss, left: loss.times }
  }

  /** Leads to another server from now on, as an address that moves with a failover does. */
  retarget(port: number): void {
    this.#target = port
    this.reset()
  }

  /** Ends all connections with RST; new ones are welcome. */
  reset(): void {
    for (const { client, server } of this.#pairs)
      for (const socket of [client, server]) socket.resetAndDestroy()
  }

  /** Ends all connections, and refuses new ones until `mend`. */
  cut(): void {
    this.#isCut = true
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.destroy()
  }

  /** Good weather again; connections that lost bytes are ended. */
  mend(): void {
    this.#isCut = false
    const lostBytes = this.#weather.isBlackHole !== undefined && this.#weather.isBlackHole !== false
    this.#weather = {}
    this.#loss = undefined
    if (lostBytes) this.reset()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #connect(client: Socket): void {
    if (this.#isCut) {
      client.destroy()
      return
    }
    const server = createConnection(this.#target, '127.0.0.1')
    const pair: Pair = { client, server }
    this.#pairs.add(pair)
    this.#carryThere(pair)
    this.#carryBack(pair)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#pairs.delete(pair)
        for (const either of [client, server]) either.destroy()
      })
    }
  }

  #carryThere(pair: Pair): void {
    const lane = new Lane(pair.server)
    pair.client.on('data', (bytes) => {
      if (this.#swallows('there')) return
      const loss = this.#loss
      if (loss !== undefined && loss.left > 0 && (loss.match === undefined || bytes.includes(loss.match))) {
        loss.left -= 1
        this.#lost += 1
        loss.onLost?.()
        pair.arriving = loss.arriving
      }
      lane.carry(bytes, this.#weather.thereMs ?? 0)
    })
  }

  #carryBack(pair: Pair): void {
    const lane = new Lane(pair.client)
    pair.server.on('data', (bytes) => {
      if (this.#swallows('back')) return
      if (pair.arriving !== undefined) {
        if (pair.arriving > 0) pair.client.write(bytes.subarray(0, pair.arriving))
        pair.client.end(() => pair.client.destroy())
        pair.server.destroy()
        return
      }
      lane.carry(bytes, this.#weather.backMs ?? 0, this.#weather.inBytes)
    })
  }

  #swallows(way: 'there' | 'back'): boolean {
    const { isBlackHole = false } = this.#weather
    return isBlackHole === true || isBlackHole === way
  }
}
