import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PacedInput } from './paced-input.ts'
import type { RequestTurns } from './request-turns.ts'

/** Requests of one connection that are answered at the same time. */
const MOST_UNDER_WAY = 8
/** Requests that wait on all connections together; a connection that sends one more is cut. */
const MOST_WAITING_IN_ALL = 16_384
/** While more bytes than this wait to be sent, no further request of the connection begins. */
const MOST_UNSENT = 65_536

/** What the connections of a server share. */
export interface ConnectionTotals {
  /** Requests that wait on all of them. */
  waiting: number
  /** When a request begins that has to wait. */
  readonly turns: RequestTurns
  /** The client that a request counts for in these turns. */
  clientOf(request: IncomingMessage): string
  /** Called with the unsent bytes of a connection after an answer was written, and when one has been sent. */
  measured(connection: Connection, unsent: number): void
}

interface Exchange {
  /** Calls for the answer. */
  readonly start: () => Promise<void>
  /** Called when the answer has been sent, or never will be. */
  onSent: (() => void) | undefined
}

/**
 * One socket with its requests. A few of them are under way, until their answers have been sent. The next ones wait
 * unanswered, and no more is read meanwhile. So a client that sends and never reads costs little. A request behind another
 * of its connection always waits for a turn of the event loop: one socket may take in answers to thousands.
 *
 * | state     | meaning                                         | left when                                                  |
 * |-----------|-------------------------------------------------|------------------------------------------------------------|
 * | waiting   | read, perhaps except for its body; not answered | it has a turn, fewer are under way, and little is unsent   |
 * | under way | being answered, or its answer is being sent     | the answer has been sent, or the socket is closed          |
 */
export class Connection {
  readonly #socket: Socket
  readonly #totals: ConnectionTotals
  readonly #input: PacedInput
  readonly #waiting = new Map<ServerResponse, Exchange>()
  readonly #underWay = new Map<ServerResponse, Exchange>()
  #latest: ServerResponse | undefined
  /** Whether the first that waits has asked for a turn. */
  #isAsking = false
  #isClosing = false

  constructor(socket: Socket, totals: ConnectionTotals) {
    this.#socket = socket
    this.#totals = totals
    this.#input = new PacedInput(socket, () => this.#waiting.size === 0)
  }

  /** The response to the request that came last; undefined while there is none to answer. */
  get latest(): ServerResponse | undefined {
    return this.#latest
  }

  /** Bytes that were written and that the system has not taken yet. */
  get unsent(): number {
    let bytes = 0
    for (const answer of this.#underWay.keys()) bytes += answer.writableLength
    return bytes
  }

  /** Answers the request, now or when it is its turn. */
  serve(answer: ServerResponse, start: () => Promise<void>): void {
    if (this.#socket.destroyed) return
    this.#input.noteRequest()
    this.#latest = answer
    const exchange = { start, onSent: undefined }
    if (this.#waiting.size + this.#underWay.size === 0 && this.#totals.turns.hasRoom()) {
      this.#begin(answer, exchange)
    } else if (this.#totals.waiting < MOST_WAITING_IN_ALL) {
      this.#waiting.set(answer, exchange)
      this.#totals.waiting++
      this.#askForTurn()
    } else this.#socket.destroy()
  }

  /** Drops everything that was not sent. */
  cut(): void {
    this.#socket.destroy()
  }

  /** Closes the socket after the answers under way, and answers none of the requests behind them. */
  closeSoon(): void {
    this.#isClosing = true
    this.#forgetWaiting()
    const last = [...this.#underWay.keys()].at(-1)
    if (last === undefined) this.#socket.destroySoon()
    else if (!last.headersSent) last.setHeader('Connection', 'close')
  }

  /** Calls `callback` when the answer has been sent or the socket is closed; at once if that is so already. */
  whenSent(answer: ServerResponse, callback: () => void): void {
    const exchange = this.#underWay.get(answer)
    if (exchange === undefined) callback()
    else exchange.onSent = callback
  }

  /** Call it when the socket is closed: answers behind the first one get no event of their own. */
  release(): void {
    this.#forgetWaiting()
    for (const answer of [...this.#underWay.keys()]) this.#end(answer)
    this.#totals.measured(this, 0)
  }

  #forgetWaiting(): void {
    this.#totals.waiting -= this.#waiting.size
    this.#waiting.clear()
  }

  #mayBegin(): boolean {
    const { size } = this.#underWay
    return size === 0 || (size < MOST_UNDER_WAY && this.unsent < MOST_UNSENT)
  }

  #begin(answer: ServerResponse, exchange: Exchange): void {
    this.#underWay.set(answer, exchange)
    answer.once('close', () => {
      this.#end(answer)
      this.#proceed()
    })
    void exchange.start().then(() => this.#measure())
  }

  #end(answer: ServerResponse): void {
    const exchange = this.#underWay.get(answer)
    if (exchange === undefined) return
    this.#underWay.delete(answer)
    if (this.#latest === answer) this.#latest = undefined
    exchange.onSent?.()
  }

  #proceed(): void {
    if (this.#socket.destroyed) return
    if (this.#isClosing && this.#underWay.size === 0) {
      this.#socket.destroySoon()
      return
    }
    this.#measure()
    this.#askForTurn()
  }

  #askForTurn(): void {
    const [first] = this.#waiting.keys()
    if (first === undefined || this.#isAsking || !this.#mayBegin()) return
    this.#isAsking = true
    this.#totals.turns.next(this.#totals.clientOf(first.req), () => {
      this.#isAsking = false
      this.#beginNext()
    })
  }

  #beginNext(): void {
    const [next] = this.#waiting
    // What was written meanwhile may be too much, or the socket is closed.
    if (next === undefined || !this.#mayBegin()) return
    const [answer, exchange] = next
    this.#waiting.delete(answer)
    this.#totals.waiting--
    this.#begin(answer, exchange)
    this.#askForTurn()
    this.#input.goOn()
  }

  #measure(): void {
    if (!this.#socket.destroyed) this.#totals.measured(this, this.unsent)
  }
}
