import { MOST_PER_CLAIM } from '../scripts/prelude.ts'

/** With more unfetched jobs than this, workers are absent or do not keep up. */
const MOST_UNFETCHED = 2_000

/**
 * Bounds the jobs in the transport while no worker fetches. It counts the jobs handed over, and asks how many of them are
 * unfetched only when that count reaches the bound.
 */
export class Backlog {
  readonly #ask: (() => Promise<number>) | undefined
  #atMost = 0

  constructor(ask: (() => Promise<number>) | undefined) {
    this.#ask = ask
  }

  /**
   * The most jobs to claim. At least one, so that the elected scheduler stays elected and learns what is due next; unfetched
   * jobs come back when their leases end, so these do not add up.
   */
  async room(): Promise<number> {
    if (this.#ask === undefined) return MOST_PER_CLAIM
    if (this.#atMost + MOST_PER_CLAIM > MOST_UNFETCHED) this.#atMost = await this.#ask()
    return Math.max(1, Math.min(MOST_PER_CLAIM, MOST_UNFETCHED - this.#atMost))
  }

  add(count: number): void {
    this.#atMost += count
  }

  get isFull(): boolean {
    return this.#ask !== undefined && this.#atMost >= MOST_UNFETCHED
  }
}
