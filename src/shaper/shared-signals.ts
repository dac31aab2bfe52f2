/** One listener for each signal, however many wait for it: Node warns of more than ten, which are usually forgotten. */
export class SharedSignals {
  readonly #waiting = new Map<AbortSignal, Set<() => void>>()

  heed(signal: AbortSignal, onAbort: () => void): void {
    const known = this.#waiting.get(signal)
    if (known !== undefined) {
      known.add(onAbort)
      return
    }
    this.#waiting.set(signal, new Set([onAbort]))
    signal.addEventListener('abort', this.#onAbort)
  }

  forget(signal: AbortSignal, onAbort: () => void): void {
    const waiting = this.#waiting.get(signal)
    waiting?.delete(onAbort)
    if (waiting === undefined || waiting.size > 0) return
    this.#waiting.delete(signal)
    signal.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = ({ currentTarget }: Event) => {
    for (const onAbort of [...(this.#waiting.get(currentTarget as AbortSignal) ?? [])]) onAbort()
  }
}
