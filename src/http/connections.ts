import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { answerToUnreadable } from './unreadable.ts'

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

  /** What came over the socket is no request. In the middle of an answer nothing else can be said. */
  turnAway(socket: Socket, errorCode: string | undefined): void {
    const isAnswering = this.#answers.get(socket)?.headersSent ?? false
    if (errorCode === 'ECONNRESET' || !socket.writable || isAnswering) socket.destroy()
    else socket.end(answerToUnreadable(errorCode), () => socket.destroy())
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
