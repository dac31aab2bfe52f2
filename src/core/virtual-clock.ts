import type { Clock } from './clock.ts'

interface Call {
  readonly at: number
  readonly callback: () => void
}

/** Waits until promises have settled between two instants; by default one turn of the event loop. */
export type Settle = () => Promise<void>

/**
 * A clock that moves only when `advance` is called: a year of departures in a second, exact to the microsecond, the same every
 * time. For tests, and for trying out a limit.
 */
export class VirtualClock implements Clock {
  #now: number
  readonly #calls = new Set<Call>()
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
    const call = { at, callback }
    this.#calls.add(call)
    return () => void this.#calls.delete(call)
  }

  /** Resolves after `duration` microseconds of virtual time: for a slow handler, say. */
  sleep(duration: number): Promise<void> {
    return new Promise((resolve) => void this.wake(this.#now + duration, resolve))
  }

  /** Advances the clock by `duration` microseconds. */
  advance(duration: number): Promise<void> {
    return this.advanceTo(this.#now + duration)
  }

  /** Advances the clock to `time`, and runs every call that is due on the way, at its own instant. */
  async advanceTo(time: number): Promise<void> {
    await this.#settle()
    for (let call = this.#earliest(time); call !== undefined; call = this.#earliest(time)) {
      this.#calls.delete(call)
      this.#now = Math.max(this.#now, call.at)
      call.callback()
      await this.#settle()
    }
    this.#now = Math.max(this.#now, time)
  }

  /** The first call due by `time`; of two at the same instant, the one that was made first. */
  #earliest(time: number): Call | undefined {
    let earliest: Call | undefined
    for (const call of this.#calls) {
      if (call.at <= time && (earliest === undefined || call.at < earliest.at)) earliest = call
    }
    return earliest
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
