const A_LONG_TIME_MS = 2 ** 31 - 1

/** Keeps the process alive while jobs have not ended: a line that is lost with its process must not be lost silently. */
export class KeepAlive {
  #timer: NodeJS.Timeout | undefined

  set(isNeeded: boolean): void {
    if (isNeeded === (this.#timer !== undefined)) return
    clearInterval(this.#timer)
    this.#timer = isNeeded ? setInterval(() => undefined, A_LONG_TIME_MS) : undefined
  }
}
