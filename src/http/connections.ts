import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { SECURITY_HEADERS } from './middleware.ts'
import { PROBLEM_TYPE, PROBLEMS, type ProblemName, problemBody } from './problem.ts'

/** The sockets of a server, each with its response in progress, if there is one. */
export class Connections {
  readonly #answers = new Map<Socket, ServerResponse | undefined>()
  #isDraining = false

  get isDraining(): boolean {
    return this.#isDraining
  }

  add(socket: Socket): void {
    this.#answers.set(socket, undefined)
    socket.once('close', () => this.#answers.delete(socket))
  }

  serve(socket: Socket, answer: ServerResponse): void {
    this.#answers.set(socket, answer)
    answer.once('close', () => {
      if (this.#answers.get(socket) === answer) this.#answers.set(socket, undefined)
      if (this.#isDraining) socket.destroySoon()
    })
  }

  /**
   * Answers bytes that are no request. A complete request before them gets its own response first, since its job may
   * have been accepted. In the middle of a response nothing else can be sent.
   */
  reject(socket: Socket, errorCode: string | undefined): void {
    const answer = this.#answers.get(socket)
    const isGone = errorCode === 'ECONNRESET' || !socket.writable
    if (isGone || (answer?.headersSent && !answer.writableEnded)) socket.destroy()
    else if (answer?.req.complete) this.#endAfter(answer, socket)
    else socket.end(unreadableResponse(errorCode), () => socket.destroy())
  }

  #endAfter(answer: ServerResponse, socket: Socket): void {
    if (!answer.headersSent) answer.setHeader('Connection', 'close')
    answer.once('close', () => socket.destroySoon())
  }

  /** Closes idle connections now, and the others after their response. */
  closeIdle(): void {
    this.#isDraining = true
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
