import { SECOND } from './duration.ts'

/** How long after its last work a key still counts among those that share a pool. */
const REMEMBERED = 10 * SECOND
/** Shares are not divided further beyond this many keys, or as many as there are handlers. */
const MOST_REMEMBERED = 1_000

/**
 * Divides the handlers of a pool between keys. A key that is alone may take them all. Each of several keys that had
 * work in the last ten seconds may take an equal share; and more while the square root of the pool's size stays free,
 * so that another key finds a handler (the safety capacity of square-root staffing: Halfin and Whitt, Operations
 * Research 29, 1981). Pure: `now` is an argument, in microseconds.
 */
export class HandlerShares {
  #size = 0
  /** How many handlers stay free once a key has its share. */
  #reserve = 0
  #used = 0
  readonly #running = new Map<string, number>()
  /** Keys that had work since `#since`, and in the period before; bounded, and cleared without a timer. */
  #recent = new Set<string>()
  #before = new Set<string>()
  /** The number of keys in `#before` that are not in `#recent`. */
  #onlyBefore = 0
  #since = Number.NEGATIVE_INFINITY

  constructor(size: number) {
    this.resize(size)
  }

  get free(): number {
    return this.#size - this.#used
  }

  resize(by: number): void {
    this.#size += by
    this.#reserve = Math.floor(Math.sqrt(this.#size))
  }

  /** Whether the key may take a handler; the question itself counts as work. */
  mayTake(key: string, now: number): boolean {
    this.#note(key, now)
    return this.allows(key)
  }

  /** The same without counting as work. */
  allows(key: string): boolean {
    const { free } = this
    if (free <= 0) return false
    const keys = Math.max(this.#recent.size + this.#onlyBefore, this.#running.size)
    if (keys === 1 || free > this.#reserve) return true
    return (this.#running.get(key) ?? 0) < Math.ceil(this.#size / keys)
  }

  /** Takes a handler for the key; one must be free. */
  take(key: string): void {
    this.#used++
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1)
  }

  release(key: string): void {
    this.#used--
    const left = this.#running.get(key)! - 1
    if (left > 0) this.#running.set(key, left)
    else this.#running.delete(key)
  }

  #note(key: string, now: number): void {
    const age = now - this.#since
    if (!(age < REMEMBERED)) {
      this.#before = age < 2 * REMEMBERED ? this.#recent : new Set()
      this.#onlyBefore = this.#before.size
      this.#recent = new Set()
      this.#since = now
    }
    if (this.#recent.size >= Math.min(this.#size, MOST_REMEMBERED) || this.#recent.has(key)) return
    this.#recent.add(key)
    if (this.#before.has(key)) this.#onlyBefore--
  }
}
