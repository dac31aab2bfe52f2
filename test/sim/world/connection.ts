import type { Link, Way } from './link.ts'
import type { SimProcess } from './process.ts'
import { PHASES } from './world.ts'

/** One end of a connection, as the network sees it. */
export interface Endpoint {
  readonly process: SimProcess
  onBytes(bytes: Buffer): void
  /** The other end has sent all it will, or the connection is broken. */
  onEnd(why: 'closed' | 'reset'): void
}

/** What is under way. Pieces of one write stay apart. */
interface Segment {
  readonly writes: Buffer[]
  readonly isPiece: boolean
}

/**
 * One direction of a connection: bytes arrive in the order in which they were sent, each segment after the delay of the
 * way, and not while the way is held. What has caught up with what was sent before it arrives together with it: nothing could
 * come between the two.
 */
export class Stream {
  readonly #way: Way
  readonly #splits: number
  readonly #to: Endpoint
  readonly #underWay: (Segment | 'closed')[] = []
  #lastAt = 0
  #isBroken = false

  constructor(way: Way, splits: number, to: Endpoint) {
    this.#way = way
    this.#splits = splits
    this.#to = to
  }

  send(from: number, bytes: Buffer): void {
    if (this.#isBroken) return
    const segments = this.#way.segments(bytes, this.#splits)
    const isPiece = segments.length > 1
    for (const segment of segments) {
      const at = this.#arrivalOf(from)
      const last = this.#underWay.at(-1)
      const isApart = isPiece || last === undefined || last === 'closed' || last.isPiece
      if (isApart || at > this.#lastAt) this.#put({ writes: [segment], isPiece }, at)
      else last.writes.push(segment)
    }
  }

  /** After all that was sent before. */
  close(from: number): void {
    if (!this.#isBroken) this.#put('closed', this.#arrivalOf(from))
  }

  /** Nothing arrives any more. */
  break(): void {
    this.#isBroken = true
    this.#underWay.length = 0
  }

  #put(what: Segment | 'closed', at: number): void {
    this.#underWay.push(what)
    this.#plan(at)
  }

  #arrivalOf(from: number): number {
    return Math.max(from, this.#way.heldUntil) + this.#way.delay()
  }

  #plan(at: number): void {
    this.#lastAt = Math.max(at, this.#lastAt + 0.001)
    this.#to.process.at(this.#lastAt, PHASES.io, () => this.#arrive())
  }

  #arrive(): void {
    const { now } = this.#to.process.world
    if (this.#isBroken || this.#underWay.length === 0) return
    if (this.#way.heldUntil > now) {
      this.#plan(this.#arrivalOf(now))
      return
    }
    const next = this.#underWay.shift()!
    if (next === 'closed') this.#to.onEnd('closed')
    else this.#to.onBytes(next.writes.length === 1 ? next.writes[0]! : Buffer.concat(next.writes))
  }
}

/** A connection of a process to the server. */
export class Connection {
  readonly link: Link
  readonly #client: Endpoint
  readonly #server: Endpoint
  readonly #toServer: Stream
  readonly #toClient: Stream
  isOpen = true

  constructor(link: Link, client: Endpoint, server: Endpoint) {
    this.link = link
    this.#client = client
    this.#server = server
    this.#toServer = new Stream(link.toServer, link.splits, server)
    this.#toClient = new Stream(link.toClient, link.splits, client)
  }

  get process(): SimProcess {
    return this.#client.process
  }

  toServer(bytes: Buffer): void {
    if (this.isOpen) this.#toServer.send(this.#client.process.inner, bytes)
  }

  toClient(bytes: Buffer): void {
    if (this.isOpen) this.#toClient.send(this.#server.process.inner, bytes)
  }

  /** The client sends nothing more: the server gets what was sent before, and then the end. */
  closeByClient(): void {
    if (this.isOpen) this.#toServer.close(this.#client.process.world.present)
  }

  closeByServer(): void {
    if (this.isOpen) this.#toClient.close(this.#server.process.world.present)
  }

  /** What is under way is lost, and both ends notice; a way that is held keeps the news from its end until it is not. */
  reset(at: number): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#toServer.break()
    this.#toClient.break()
    this.#tell(this.#server, at, this.link.toServer)
    this.#tell(this.#client, at, this.link.toClient)
  }

  #tell(end: Endpoint, at: number, way: Way): void {
    const from = Math.max(at, way.heldUntil) + way.delay()
    end.process.at(from, PHASES.io, () => end.onEnd('reset'))
  }
}
