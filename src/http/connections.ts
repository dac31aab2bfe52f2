import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Connection, type ConnectionTotals } from './connection.ts'
import { ipKey } from './ip-key.ts'
import { SECURITY_HEADERS } from './middleware.ts'
import { PROBLEM_TYPE, PROBLEMS, type ProblemName, problemBody } from './problem.ts'
import { RequestTurns } from './request-turns.ts'

/** Bytes of answers that all clients together have not taken yet. */
const MOST_UNSENT = 67_108_864
/** Beyond the limit, connections are cut until this share of it is left. */
const LEFT_AFTER_CUT = 0.75

export interface ConnectionLimits {
  readonly maxConnectionsPerAddress: number
  /** Bytes that may wait to be sent on all connections together. Default: 64 MiB. */
  readonly mostUnsent?: number
}

/** The sockets of a server, each with its requests. */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #open = new Map<Socket, Connection>()
  readonly #ofAddress = new Map<string, number>()
  readonly #totals: ConnectionTotals
  /** Bytes by connection, when last measured. */
  readonly #unsentOf = new Map<Connection, number>()
  #unsent = 0
  #isDraining = false

  /** @param clientOf the client that a request counts for; clients take turns */
  constructor(limits: ConnectionLimits, clientOf: (request: IncomingMessage) => string) {
    this.#limits = limits
    this.#totals = {
      waiting: 0,
      turns: new RequestTurns(),
      clientOf,
      measured: (connection, bytes) => this.#measured(connection, bytes),
    }
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Closes the socket again if its address has too many. */
  add(socket: Socket): void {
    const address = addressOf(socket)
    const count = (this.#ofAddress.get(address) ?? 0) + 1
    if (count > this.#limits.maxConnectionsPerAddress) {
      socket.destroy()
      return
    }
    this.#ofAddress.set(address, count)
    const connection = new Connection(socket, this.#totals)
    this.#open.set(socket, connection)
    socket.once('close', () => {
      connection.release()
      this.#open.delete(socket)
      this.#leave(address)
    })
  }

  /** Answers a request with `start` when it is its turn among those of its connection. */
  serve(answer: ServerResponse, start: () => Promise<void>): void {
    this.#open.get(answer.req.socket)?.serve(answer, start)
  }

  /** Calls `callback` when the answer has been sent, or never will be. */
  whenSent(answer: ServerResponse, callback: () => void): void {
    const connection = this.#open.get(answer.req.socket)
    if (connection === undefined) callback()
    else connection.whenSent(answer, callback)
  }

  /**
   * Answers bytes that are no request. A complete request before them gets its own response first, since its job may
   * have been accepted. In the middle of a response nothing else can be sent.
   */
  reject(socket: Socket, errorCode: string | undefined): void {
    const answer = this.#open.get(socket)?.latest
    const isGone = errorCode === 'ECONNRESET' || !socket.writable
    if (isGone || (answer?.headersSent && !answer.writableEnded)) socket.destroy()
    else if (answer?.req.complete) this.#endAfter(answer, socket)
    else socket.end(unreadableResponse(errorCode), () => socket.destroy())
  }

  #endAfter(answer: ServerResponse, socket: Socket): void {
    if (!answer.headersSent) answer.setHeader('Connection', 'close')
    answer.once('close', () => socket.destroySoon())
  }

  /** Closes idle connections now, and the others after their responses. */
  closeIdle(): void {
    this.#isDraining = true
    for (const connection of this.#open.values()) connection.closeSoon()
  }

  destroy(): void {
    for (const socket of this.#open.keys()) socket.destroy()
  }

  #leave(address: string): void {
    const left = this.#ofAddress.get(address)! - 1
    if (left === 0) this.#ofAddress.delete(address)
    else this.#ofAddress.set(address, left)
  }

  #measured(connection: Connection, bytes: number): void {
    this.#note(connection, bytes)
    const { mostUnsent = MOST_UNSENT } = this.#limits
    if (this.#unsent > mostUnsent) this.#cut(mostUnsent * LEFT_AFTER_CUT)
  }

  #note(connection: Connection, bytes: number): void {
    this.#unsent += bytes - (this.#unsentOf.get(connection) ?? 0)
    if (bytes === 0) this.#unsentOf.delete(connection)
    else this.#unsentOf.set(connection, bytes)
  }

  /** Cuts the connections with the most unsent bytes: those that read little, and not those that ask little. */
  #cut(left: number): void {
    // Some have sent more since they were measured.
    for (const connection of [...this.#unsentOf.keys()]) this.#note(connection, connection.unsent)
    const byBytes = [...this.#unsentOf].sort(([, one], [, other]) => other - one)
    for (const [connection] of byBytes) {
      if (this.#unsent <= left) return
      this.#note(connection, 0)
      connection.cut()
    }
  }
}

/** An IPv6 network counts as one address. A socket that is closed already has none. */
function addressOf({ remoteAddress }: Socket): string {
  return remoteAddress === undefined ? '' : ipKey(remoteAddress)
}
const BY_CODE: Readonly<Record<string, ProblemName>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

/** The raw response to bytes that could not be parsed as a request. It does not repeat what was sent. */
export function unreadableResponse(errorCode: string | undefined): string {
  const requestId = randomUUID()
  const problem = BY_CODE[errorCode ?? ''] ?? 'bad-request'
  const { status } = PROBLEMS[problem]
  const body = JSON.stringify(problemBody(problem, {}, requestId))
  const headers = {
    Connection: 'close',
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    ...SECURITY_HEADERS,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
