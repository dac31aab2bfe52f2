import { Keyspace } from './keyspace.ts'
import { type Host, Server } from './server.ts'
import { Session } from './session.ts'

/** The data of a store at one moment; it does not change any more. */
export type Snapshot = readonly Keyspace[]

/** The server's end of a connection. */
export interface SimConnection {
  /** The next bytes of the client, split anywhere. The answer may come before this returns. */
  receive(bytes: Buffer): void
  onBytes(listener: (bytes: Buffer) => void): void
  /** The server closed it; not called after `close`. */
  onClose(listener: () => void): void
  /** The client closed it. */
  close(): void
}

/**
 * A Redis 7.0 in memory, on the time and the chance of its host: the same bytes at the same times give the same answers.
 */
export class SimRedis {
  /** Data, settings and scripts, for tests that look at them or change them. */
  readonly server: Server
  readonly sessions = new Set<Session>()
  #connections = 0

  constructor(host: Host) {
    this.server = new Server(host)
  }

  connect(): SimConnection {
    const session = new Session(this, ++this.#connections)
    this.sessions.add(session)
    return {
      receive: (bytes) => session.receive(bytes),
      onBytes: (listener) => {
        session.onBytes = listener
      },
      onClose: (listener) => {
        session.onClose = listener
      },
      close: () => session.close(),
    }
  }

  remove(session: Session): void {
    this.sessions.delete(session)
  }

  /** Limits the memory, as `maxmemory` does; 0: no limit. */
  setMaxmemory(bytes: number): void {
    this.server.settings.set('maxmemory', `${bytes}`)
  }

  snapshot(): Snapshot {
    return copied(this.server.databases)
  }

  /** Closes all connections, and goes on with that data, as another run without any script. */
  restart(from: Snapshot | 'empty' | 'same'): void {
    const data = from === 'same' ? this.snapshot() : from === 'empty' ? undefined : from
    const sessions = [...this.sessions]
    this.sessions.clear()
    this.server.restart()
    for (const [index, database] of this.server.databases.entries()) {
      database.load(data?.[index] ?? { values: new Map(), expires: new Map() })
    }
    for (const session of sessions) session.end()
  }
}

function copied(databases: readonly Keyspace[]): Snapshot {
  const host = { nowMs: 0, changed: () => undefined }
  return databases.map((database) => {
    const copy = new Keyspace(host)
    copy.load(database)
    return copy
  })
}
