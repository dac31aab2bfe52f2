import { MINUTE } from '../core/duration.ts'
import { toError } from '../core/thrown.ts'

const PRUNE_EVERY = MINUTE

/** Prunes during fills: once a minute, one at a time, without delaying them. */
export class PassingPrune {
  readonly #prune: () => Promise<unknown>
  /** By the clock of the store; before the first pruning, the time of the first fill. */
  #prunedAt: number | undefined
  #pruning: Promise<void> | undefined
  #wasWarned = false

  constructor(prune: () => Promise<unknown>) {
    this.#prune = prune
  }

  /** A store that lives for only a few fills never prunes. */
  pass(now: number): void {
    this.#prunedAt ??= now
    // Works even if the clock was set back.
    if (this.#pruning !== undefined || Math.abs(now - this.#prunedAt) < PRUNE_EVERY) return
    this.#prunedAt = now
    this.#pruning = this.#prune().then(
      () => {
        this.#pruning = undefined
        this.#wasWarned = false
      },
      // It is not awaited, so an error becomes a warning: once until it works again.
      (error) => {
        this.#pruning = undefined
        if (!this.#wasWarned) process.emitWarning(toError(error))
        this.#wasWarned = true
      },
    )
  }

  /** Resolves when no pruning is running. */
  async settled(): Promise<void> {
    await this.#pruning
  }
}
