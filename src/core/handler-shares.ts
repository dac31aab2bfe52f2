import { SECOND } from './duration.ts'

/** For so long after it had work a key counts among those that share a pool. */
const REMEMBERED = 10 * SECOND
/** Beyond so many keys, or as many as there are handlers, the shares become no smaller. */
const MOST_REMEMBERED = 1_000

/**
 * Who may take a free handler of a pool. A key that is alone may take them all. Of several that had work in the last ten
 * seconds each may take its equal share; and more as long as the square root of the pool's size stays free, so that
 * another key finds a handler (the safety capacity of square-root staffing: Halfin and Whitt, Operations Research 29, 1981).
 * Pure: `now` is an argument, in microseconds.
 */
export class HandlerShares {
  #size = 0
  /** So many stay free for keys that have their share already. */
  #reserve = 0
  #used = 0
  readonly #running = new Map<string, number>()
  /** Keys that had work since `#since`, and in the span before; bounded, and no timer clears them. */
  #recent = new Set<string>()
  #before = new Set<string>()
  /** How many of `#before` are not in `#recent`. */
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

  /** Whether the key may take a handler; that it asks counts as work. */
  mayTake(key: string, now: number): boolean {
    this.#note(key, now)
    return this.allows(key)
  }

  /** Whether the key may take a handler, for those who only want to know. */
  allows(key: string): boolean {
    const { free } = this
    if (free <= 0) return false
    const keys = Math.max(this.#recent.size + this.#onlyBefore, this.#running.size)
    if (keys === 1 || free > this.#reserve) return true
    return (this.#running.get(key) ?? 0) < Math.ceil(this.#size / keys)
  }

  /** A handler must be free. */
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
