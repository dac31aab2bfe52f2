/** The store gives no more for one claim. */
const MOST_CLAIMED = 200
/** More jobs than this that nobody fetched, and the workers cannot be there, or not keep up. */
const MOST_UNFETCHED = 2_000

/**
 * Bounds what lies in the transport while nobody works. It counts what is handed over, as if nobody fetched any, and
 * asks how many there really are only when that count reaches the bound.
 */
export class Backlog {
  readonly #ask: (() => Promise<number>) | undefined
  #atMost = 0

  constructor(ask: (() => Promise<number>) | undefined) {
    this.#ask = ask
  }

  /**
   * How many jobs to claim at the most. At least one, so that the elected scheduler stays elected and hears what is
   * due next; what is not fetched comes back with its lease, so these do not add up.
   */
  async room(): Promise<number> {
    if (this.#ask === undefined) return MOST_CLAIMED
    if (this.#atMost + MOST_CLAIMED > MOST_UNFETCHED) this.#atMost = await this.#ask()
    return Math.max(1, Math.min(MOST_CLAIMED, MOST_UNFETCHED - this.#atMost))
  }

  add(count: number): void {
    this.#atMost += count
  }

  get isFull(): boolean {
    return this.#ask !== undefined && this.#atMost >= MOST_UNFETCHED
  }
}
