import { monotonicNow } from '../core/clock.ts'
import { SECOND } from '../core/duration.ts'

const QUIET = 2 * SECOND
const EVERY_ON_TERMINAL = 0.2 * SECOND
const EVERY_IN_LOG = 5 * SECOND
const LOOK_MS = 200

/** Prints the progress of a long task on standard error, from its third second on, in a log every 5 s. */
export class Progress {
  readonly #stream: NodeJS.WriteStream
  readonly #now: () => number
  readonly #start: number
  #next: number
  #isShown = false

  constructor(stream: NodeJS.WriteStream = process.stderr, now: () => number = monotonicNow) {
    this.#stream = stream
    this.#now = now
    this.#start = now()
    this.#next = this.#start + QUIET
  }

  update(text: string): void {
    const now = this.#now()
    if (now < this.#next) return
    const line = `${text} (${Math.floor((now - this.#start) / SECOND)} s)`
    this.#stream.write(this.#stream.isTTY ? `\r${line}\u001b[K` : `${line}\n`)
    this.#next = now + (this.#stream.isTTY ? EVERY_ON_TERMINAL : EVERY_IN_LOG)
    this.#isShown = true
  }

  /** Clears the progress line. */
  done(): void {
    if (this.#isShown && this.#stream.isTTY) this.#stream.write('\r\u001b[K')
  }

  /** Prints `text()` until the work has settled, for work that mostly waits. */
  async during<Value>(work: Promise<Value>, text: () => string): Promise<Value> {
    const timer = setInterval(() => this.update(text()), LOOK_MS)
    try {
      return await work
    } finally {
      clearInterval(timer)
      this.done()
    }
  }
}

/** Shows progress while one answer is awaited. */
export function awaitAnswer<Value>(work: Promise<Value>): Promise<Value> {
  return new Progress().during(work, () => 'waiting for an answer')
}
