const A_LONG_TIME_MS = 2 ** 31 - 1

/** Keeps the process alive while jobs have not ended: a line that is lost with its process must not be lost silently. */
export class KeepAlive {
  #timer: NodeJS.Timeout | undefined
  #isHeld = false

  set(isNeeded: boolean): void {
    if (isNeeded === this.#isHeld) return
    this.#isHeld = isNeeded
    this.#timer ??= setInterval(() => undefined, A_LONG_TIME_MS)
    if (isNeeded) this.#timer.ref()
    else this.#timer.unref()
  }

  release(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#isHeld = false
  }
}
