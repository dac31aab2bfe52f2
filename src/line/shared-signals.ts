interface Heard {
  readonly waiting: Set<() => void>
  readonly onAbort: () => void
}

/** One listener for each signal, however many wait for it: Node warns of more than ten, which are usually forgotten. */
export class SharedSignals {
  readonly #heard = new Map<AbortSignal, Heard>()

  heed(signal: AbortSignal, onAbort: () => void): void {
    const known = this.#heard.get(signal)
    if (known !== undefined) {
      known.waiting.add(onAbort)
      return
    }
    const waiting = new Set([onAbort])
    // What the event says of its target is not to be relied on: Node 20 leaves it out once a request has the signal, too.
    const heard = {
      waiting,
      onAbort: () => {
        for (const tell of [...waiting]) tell()
      },
    }
    this.#heard.set(signal, heard)
    signal.addEventListener('abort', heard.onAbort)
  }

  forget(signal: AbortSignal, onAbort: () => void): void {
    const heard = this.#heard.get(signal)
    heard?.waiting.delete(onAbort)
    if (heard === undefined || heard.waiting.size > 0) return
    this.#heard.delete(signal)
    signal.removeEventListener('abort', heard.onAbort)
  }
}
