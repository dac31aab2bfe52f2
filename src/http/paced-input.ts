import type { Socket } from 'node:net'

/** Bytes: the smallest piece that the parser gets, and the largest. */
const SMALLEST = 1_024
const LARGEST = 65_536
/** Bytes that the parser gets in one turn of the event loop: a large body may have come at once. */
const MOST_IN_A_TURN = 131_072

/**
 * Gives the bytes of a socket to Node's parser in small pieces, and only while more requests may come. Node itself parses
 * everything that it has read, which may be thousands of requests, before it looks whether their answers are taken; and the
 * bytes of a large body cost more than a copy.
 *
 * | state   | meaning                                    | left when                        |
 * |---------|--------------------------------------------|----------------------------------|
 * | flowing | bytes go to the parser as they come        | no more requests may come        |
 * | held    | the rest waits here, and nothing more is read | `goOn` is called, and more may come |
 * | resting | the same                                   | the event loop comes round       |
 */
export class PacedInput {
  readonly #socket: Socket
  readonly #mayRead: () => boolean
  /** Those of the parser. */
  readonly #listeners: readonly ((piece: Buffer) => void)[]
  #rest: Buffer = Buffer.alloc(0)
  /** Grows while pieces bring no request, as those of a large body do. */
  #size = SMALLEST
  /** Bytes that the parser may get in this turn. */
  #left = MOST_IN_A_TURN
  #isRenewing = false
  #isFeeding = false
  #isHeld = false

  /** @param mayRead whether more requests may come */
  constructor(socket: Socket, mayRead: () => boolean) {
    this.#socket = socket
    this.#mayRead = mayRead
    this.#listeners = socket.listeners('data') as ((piece: Buffer) => void)[]
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Buffer) => {
      this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
      this.#feed()
    })
    // Node pauses and resumes the socket, too: for a body that is not read, or for answers that are not taken.
    socket.on('resume', () => this.#feed())
  }

  /** Call it for every request that was parsed. */
  noteRequest(): void {
    this.#size = SMALLEST
  }

  /** Call it when more requests may come. */
  goOn(): void {
    if (!this.#isHeld || !this.#mayRead()) return
    this.#isHeld = false
    this.#socket.resume()
  }

  #feed(): void {
    if (this.#isFeeding) return
    this.#isFeeding = true
    while (this.#rest.length > 0 && !this.#socket.isPaused() && !this.#socket.destroyed) {
      if (!this.#mayRead()) {
        this.#isHeld = true
        this.#socket.pause()
      } else if (this.#left > 0) this.#feedPiece()
      else this.#socket.pause()
    }
    this.#isFeeding = false
  }

  #feedPiece(): void {
    const piece = this.#rest.subarray(0, this.#size)
    this.#rest = this.#rest.subarray(this.#size)
    this.#size = Math.min(LARGEST, 2 * this.#size)
    this.#left -= piece.length
    this.#renewInNextTurn()
    for (const listener of this.#listeners) listener.call(this.#socket, piece)
  }

  #renewInNextTurn(): void {
    if (this.#isRenewing) return
    this.#isRenewing = true
    setImmediate(() => {
      this.#isRenewing = false
      const isResting = this.#left <= 0
      this.#left = MOST_IN_A_TURN
      if (isResting && !this.#isHeld) this.#socket.resume()
    })
  }
}
