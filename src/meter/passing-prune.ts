import { MINUTE } from '../core/duration.ts'
import { toError } from '../core/thrown.ts'

const PRUNE_EVERY = MINUTE

/** Lets fills prune in passing: once a minute, one at a time, and nobody waits for it. */
export class PassingPrune {
  readonly #prune: () => Promise<unknown>
  /** By the clock of the store; as long as nobody has pruned, that of the first fill. */
  #prunedAt: number | undefined
  #pruning: Promise<void> | undefined
  #wasWarned = false

  constructor(prune: () => Promise<unknown>) {
    this.#prune = prune
  }

  /** A store that lives for a few fills, as one for each request does, leaves it to others. */
  pass(now: number): void {
    this.#prunedAt ??= now
    // Also when the clock was set back.
    if (this.#pruning !== undefined || Math.abs(now - this.#prunedAt) < PRUNE_EVERY) return
    this.#prunedAt = now
    this.#pruning = this.#prune().then(
      () => {
        this.#pruning = undefined
        this.#wasWarned = false
      },
      // Nobody waits for it, so it must be heard of: once for each time that it stops working.
      (error) => {
        this.#pruning = undefined
        if (!this.#wasWarned) process.emitWarning(toError(error))
        this.#wasWarned = true
      },
    )
  }

  /** Resolves when none is under way. */
  async settled(): Promise<void> {
    await this.#pruning
  }
}
