import { monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ClientQueue } from './client-queue.ts'

/** For this long requests begin one after the other; the next ones begin when the event loop comes round again. */
const LONGEST = 4 * MILLISECOND

/**
 * Lets requests begin: at once while there is time, and else in turns of the event loop, the clients in turn. So a client
 * with many requests, on however many connections, delays the next request of another by a turn of the loop and not by
 * all that it asked for.
 */
export class RequestTurns {
  readonly #queue = new ClientQueue()
  readonly #now: () => number
  /** When the first request of this turn began; undefined before it. */
  #since: number | undefined
  #isArmed = false

  constructor(now: () => number = monotonicNow) {
    this.#now = now
  }

  /** Whether a request may begin at once: no other waits, and this turn has time left. */
  hasRoom(): boolean {
    if (!this.#queue.isEmpty) return false
    this.#arm()
    return this.#hasTime()
  }

  /** Calls back when it is the turn of this client. */
  next(client: string, begin: () => void): void {
    this.#queue.add(client, begin)
    this.#arm()
  }

  #hasTime(): boolean {
    const now = this.#now()
    this.#since ??= now
    return now - this.#since < LONGEST
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    setImmediate(() => {
      this.#since = undefined
      this.#give()
    })
  }

  /** One after the other, because the time that a request takes is known when it has done what it can do at once. */
  #give(): void {
    const begin = this.#hasTime() ? this.#queue.take() : undefined
    if (begin !== undefined) {
      begin()
      afterMicrotasks(() => this.#give())
      return
    }
    this.#isArmed = false
    this.#since = undefined
    if (!this.#queue.isEmpty) this.#arm()
  }
}

/** A tick that a microtask asks for comes after all microtasks. */
function afterMicrotasks(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback))
}
