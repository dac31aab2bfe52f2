import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { SECURITY_HEADERS } from './guards.ts'
import { PROBLEM_TYPE, PROBLEMS, type ProblemName, problemBody } from './problem.ts'

/** The sockets of a server, and the answer that is under way on each, if one is. */
export class Connections {
  readonly #answers = new Map<Socket, ServerResponse | undefined>()
  #isLeaving = false

  get isLeaving(): boolean {
    return this.#isLeaving
  }

  add(socket: Socket): void {
    this.#answers.set(socket, undefined)
    socket.once('close', () => this.#answers.delete(socket))
  }

  serve(socket: Socket, answer: ServerResponse): void {
    this.#answers.set(socket, answer)
    answer.once('close', () => {
      if (this.#answers.get(socket) === answer) this.#answers.set(socket, undefined)
      if (this.#isLeaving) socket.destroySoon()
    })
  }

  /**
   * What came over the socket is no request. Whoever asked before it, and asked in full, gets his answer first: to call
   * a job refused that was accepted would be a lie. In the middle of an answer nothing else can be said.
   */
  turnAway(socket: Socket, errorCode: string | undefined): void {
    const answer = this.#answers.get(socket)
    const isGone = errorCode === 'ECONNRESET' || !socket.writable
    if (isGone || (answer?.headersSent && !answer.writableEnded)) socket.destroy()
    else if (answer?.req.complete) this.#endAfter(answer, socket)
    else socket.end(answerToUnreadable(errorCode), () => socket.destroy())
  }

  #endAfter(answer: ServerResponse, socket: Socket): void {
    if (!answer.headersSent) answer.setHeader('Connection', 'close')
    answer.once('close', () => socket.destroySoon())
  }

  /** Those over which nothing is under way end now, the others with their answer. */
  takeLeave(): void {
    this.#isLeaving = true
    for (const [socket, answer] of this.#answers) {
      if (answer === undefined) socket.destroySoon()
      else if (!answer.headersSent) answer.setHeader('Connection', 'close')
    }
  }

  destroy(): void {
    for (const socket of this.#answers.keys()) socket.destroy()
  }
}

const BY_CODE: Readonly<Record<string, ProblemName>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

/** The whole answer to what never became a request, as text for its socket. What was sent is not repeated. */
export function answerToUnreadable(errorCode: string | undefined): string {
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
