import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Connection } from './connection.ts'
import { type Delays, Link } from './link.ts'
import type { SimProcess } from './process.ts'
import { SimSocket } from './socket.ts'
import { currentProcess, PHASES } from './world.ts'

/** What a server gives for each connection. */
export interface ServerConnection {
  receive(bytes: Buffer): void
  onBytes(listener: (bytes: Buffer) => void): void
  onClose(listener: () => void): void
  close(): void
}

/** A server that processes connect to. */
export interface Server {
  readonly process: SimProcess
  /** Undefined: it is not running, and refuses. */
  accept(): ServerConnection | undefined
}

export interface LinkSettings {
  readonly there: Delays
  readonly back: Delays
  /** The share of writes that arrive in pieces. */
  readonly splits: number
}

/** How long a client that gets no answer to its first packet waits before it sends another; microseconds. */
const CONNECT_AGAIN = 1_000_000

const networks = new WeakMap<object, Network>()

/** Connections of processes to one server. */
export class Network {
  readonly #server: Server
  readonly #settings: LinkSettings
  readonly #links = new Map<SimProcess, Link>()
  readonly #connections = new Set<Connection>()
  /** What has befallen all, and processes that begin while it lasts. */
  readonly #forAll: { readonly until: number; readonly apply: (link: Link) => void }[] = []

  constructor(server: Server, settings: LinkSettings) {
    this.#server = server
    this.#settings = settings
    networks.set(server.process.world, this)
  }

  link(process: SimProcess): Link {
    let link = this.#links.get(process)
    if (link === undefined) {
      const { there, back, splits } = this.#settings
      link = new Link(there, back, splits, process.random.fork('link'))
      this.#links.set(process, link)
      for (const { until, apply } of this.#forAll) if (process.world.present < until) apply(link)
    }
    return link
  }

  /** From now on `apply` is called for the link of each process that begins before `until`. */
  forNewcomers(until: number, apply: (link: Link) => void): void {
    this.#forAll.push({ until, apply })
  }

  /** The open connections of a process, or of all. */
  connections(of?: SimProcess): Connection[] {
    const open = [...this.#connections].filter(({ isOpen }) => isOpen)
    return of === undefined ? open : open.filter(({ process }) => process === of)
  }

  connect(client: SimProcess): SimSocket {
    const link = this.link(client)
    const socket = new SimSocket(client, client.name)
    client.onDeath(() => {
      socket.connecting = false
    })
    this.#knock(socket, link, client.inner)
    return socket
  }

  #knock(socket: SimSocket, link: Link, from: number): void {
    const { process } = this.#server
    const client = socket.process
    const lost = Math.max(link.toServer.heldUntil - from, 0)
    const again = lost === 0 ? 0 : Math.ceil(lost / CONNECT_AGAIN) * CONNECT_AGAIN
    process.world.schedule(process, from + again + link.toServer.delay(), PHASES.io, () => {
      const isRefused = process.world.now < link.refusesUntil
      const accepted = isRefused ? undefined : this.#server.accept()
      const answerAt = Math.max(process.inner, link.toClient.heldUntil) + link.toClient.delay()
      if (accepted === undefined) {
        client.at(answerAt, PHASES.io, () => socket.failed('ECONNREFUSED'))
        return
      }
      const connection = this.#open(socket, link, accepted)
      client.at(answerAt, PHASES.io, () => {
        if (socket.destroyed) connection.closeByClient()
        else if (connection.isOpen) socket.connected(connection)
        else socket.failed('ECONNRESET')
      })
    })
  }

  #open(socket: SimSocket, link: Link, accepted: ServerConnection): Connection {
    const { process } = this.#server
    const connection: Connection = new Connection(link, socket, {
      process,
      onBytes: (bytes) => accepted.receive(bytes),
      onEnd: () => {
        accepted.close()
        connection.closeByServer()
        this.#connections.delete(connection)
      },
    })
    this.#connections.add(connection)
    accepted.onBytes((bytes) => connection.toClient(bytes))
    accepted.onClose(() => {
      connection.closeByServer()
      this.#connections.delete(connection)
    })
    return connection
  }

  /** The process died. Its system says so to the server, or, where the whole machine is gone, nothing does. */
  bury(process: SimProcess, how: 'process' | 'machine'): void {
    for (const connection of this.connections(process)) {
      if (how === 'process') connection.closeByClient()
    }
  }
}

const net: Record<string, unknown> = createRequire(import.meta.url)('node:net')
const realConnect = net['createConnection'] as (...args: unknown[]) => unknown

function createConnection(...args: unknown[]): unknown {
  const process = currentProcess()
  if (process === undefined) return realConnect(...args)
  const network = networks.get(process.world)
  if (network === undefined) throw new Error('expected a network in this world')
  return network.connect(process)
}

Object.assign(net, { createConnection, connect: createConnection })
syncBuiltinESMExports()
