import type { Clock } from '../../dist/src/meter.js'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** As large as real ones, so that sums of times are rounded as they are in life. */
const START_MS = 1_700_000_000_000

/** A clock that only moves when advanced: an hour in a second. */
export class VirtualTime implements Clock {
  #nowMs = START_MS
  readonly #timers = new Set<Timer>()

  get nowMs(): number {
    return this.#nowMs
  }

  now(): number {
    return this.#nowMs * 1_000
  }

  wake(at: number, callback: () => void): () => void {
    const timer = this.#set(at / 1_000, callback)
    return () => void this.#timers.delete(timer)
  }

  /** Goes on, and lets every timer ring that is due by then. */
  goOn(ms: number): void {
    const until = this.#nowMs + ms
    for (let next = this.#first(until); next !== undefined; next = this.#first(until)) {
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.at)
      next.callback()
    }
    this.#nowMs = until
  }

  /**
   * From now on everybody in this process who reads a clock or sets a timer is told this time: for products that take no
   * clock. `performance.now` counts from the start of it.
   */
  rule(): void {
    Date.now = () => Math.floor(this.#nowMs)
    performance.now = () => this.#nowMs - START_MS
    Reflect.set(
      globalThis,
      'setTimeout',
      (callback: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => {
        const timer = this.#set(this.#nowMs + ms, () => callback(...args))
        return Object.assign(timer, { unref: () => timer, ref: () => timer })
      },
    )
    Reflect.set(globalThis, 'clearTimeout', (timer: Timer) => void this.#timers.delete(timer))
  }

  #set(at: number, callback: () => void): Timer {
    const timer = { at, callback }
    this.#timers.add(timer)
    return timer
  }

  #first(until: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer
    }
    return first
  }
}
