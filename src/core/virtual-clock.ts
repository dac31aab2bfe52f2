import type { Clock } from './clock.ts'

interface Wish {
  readonly at: number
  readonly callback: () => void
}

/** Lets promises settle between two instants; the default is one turn of the event loop. */
export type Settle = () => Promise<void>

/**
 * A clock that stands still until it is told to go on: a year of departures in a second, exact to the microsecond,
 * the same every time. For tests, and for trying a limit before it is set.
 */
export class VirtualClock implements Clock {
  #now: number
  readonly #wishes = new Set<Wish>()
  readonly #settle: Settle

  /** @param start microseconds since the epoch */
  constructor(start = 0, settle: Settle = nextTurn) {
    this.#now = start
    this.#settle = settle
  }

  now(): number {
    return this.#now
  }

  wake(at: number, callback: () => void): () => void {
    const wish = { at, callback }
    this.#wishes.add(wish)
    return () => void this.#wishes.delete(wish)
  }

  /** Resolves when `duration` microseconds of virtual time have passed: a slow handler, say. */
  sleep(duration: number): Promise<void> {
    return new Promise((resolve) => void this.wake(this.#now + duration, resolve))
  }

  /** Goes on by `duration` microseconds. */
  advance(duration: number): Promise<void> {
    return this.advanceTo(this.#now + duration)
  }

  /** Goes on to `time`, stopping at every instant for which somebody asked to be woken. */
  async advanceTo(time: number): Promise<void> {
    await this.#settle()
    for (let wish = this.#earliest(time); wish !== undefined; wish = this.#earliest(time)) {
      this.#wishes.delete(wish)
      this.#now = Math.max(this.#now, wish.at)
      wish.callback()
      await this.#settle()
    }
    this.#now = Math.max(this.#now, time)
  }

  /** The first wish due by `time`; of two at the same instant, the one that was made first. */
  #earliest(time: number): Wish | undefined {
    let earliest: Wish | undefined
    for (const wish of this.#wishes) {
      if (wish.at <= time && (earliest === undefined || wish.at < earliest.at)) earliest = wish
    }
    return earliest
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
