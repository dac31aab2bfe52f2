import type { Awaitable } from '../line/awaitable.ts'
import type { Walk } from './store/bucket-walk.ts'

/**
 * Runs walks over buckets, in turn: one slice of one walk each time the event loop comes round, however many walks there are. So
 * what else waits for the event loop waits for one slice.
 */
export class WalkTurns {
  readonly #waiting: (() => void)[] = []
  /** A slice was done since the loop came round. */
  #isTaken = false

  /** Runs a walk to its end. A short one is done at once, unless another had its turn just now. */
  run<Result>(walk: Walk<Result>): Awaitable<Result> {
    if (this.#isTaken) return this.#resume(walk)
    this.#take()
    const step = walk.next()
    return step.done ? step.value : this.#resume(walk)
  }

  async #resume<Result>(walk: Walk<Result>): Promise<Result> {
    for (;;) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
      const step = walk.next()
      if (step.done) return step.value
    }
  }

  #take(): void {
    this.#isTaken = true
    setImmediate(() => {
      const next = this.#waiting.shift()
      this.#isTaken = false
      if (next === undefined) return
      this.#take()
      next()
    })
  }
}
