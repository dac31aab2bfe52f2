import { type Clock, VirtualClock } from '../../src/testing.ts'

/**
 * A clock that goes on by itself after each look, by the next of `jumps` (microseconds, over and over again): what comes
 * between two statements of a process that is compiled, collected, and taken off its processor.
 */
export class JumpyClock implements Clock {
  readonly #clock = new VirtualClock()
  readonly #jumps: readonly number[]
  #looks = 0
  #ahead = 0

  constructor(jumps: readonly number[]) {
    this.#jumps = jumps
  }

  now(): number {
    const now = this.#clock.now() + this.#ahead
    this.#ahead += this.#jumps[this.#looks++ % this.#jumps.length]!
    return now
  }

  /** As long as something computes. */
  jump(duration: number): void {
    this.#ahead += duration
  }

  wake(at: number, callback: () => void): () => void {
    return this.#clock.wake(Math.max(this.#clock.now(), at - this.#ahead), callback)
  }

  /** Lets time pass, beside the jumps, until `isOver`. */
  async passUntil(isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.#clock.advance(1_000_000)
  }
}
