/** How old the rule book of a process that uses no rule may become. */
const PERIOD_MS = 500

/** Keeps the rule book of one process up with the others; holds no process open. */
export class RuleWatch {
  readonly #follow: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  /** @param follow fetches the book if it was changed; what it fails with is told by others, and it is tried again */
  constructor(follow: () => Promise<void>) {
    this.#follow = follow
  }

  /** Safe to call twice. */
  start(): void {
    if (!this.#isStopped && this.#timer === undefined) this.#arm()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #arm(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#follow()
        .catch(() => undefined)
        .finally(() => this.#arm())
    }, PERIOD_MS).unref()
  }
}
