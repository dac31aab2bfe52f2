/** How often a process checks for a newer rule book, when no verb has shown it one. */
const PERIOD_MS = 500

/** Keeps the rule book of this process up to date. Its timer does not keep the process alive. */
export class RuleWatch {
  readonly #follow: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  /** @param follow fetches the book if it has changed; a failure is retried, and reported elsewhere */
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
