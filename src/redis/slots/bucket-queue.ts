import type { GateEntry, Signal } from './gate-entry.ts'

/** Jobs of one bucket that wait at the gate of this process, in the order in which they came. */
export class BucketQueue {
  #entries: GateEntry[] = []
  #onChange: (() => void) | undefined

  get size(): number {
    return this.#entries.length
  }

  add(entry: GateEntry): void {
    this.#entries.push(entry)
    this.#onChange?.()
  }

  /** Takes out those who wait no more. */
  sweep(): void {
    this.#entries = this.#entries.filter(({ isOpen }) => isOpen)
  }

  /**
   * The first who may ask the store now. They come in no order to rely on: one who was told that it is not his turn
   * makes way for those behind him, of whom one may be the one that everybody waits for.
   */
  first(now: number): GateEntry | undefined {
    return this.#entries.find(({ askAt }) => askAt <= now)
  }

  /** When somebody may ask. */
  get nextAsk(): number {
    return this.#entries.reduce((earliest, { askAt }) => Math.min(earliest, askAt), Number.POSITIVE_INFINITY)
  }

  /** One of them has started or gone, so it may be anybody's turn. */
  noteLeaving(): void {
    for (const entry of this.#entries) entry.askAt = 0
  }

  /** None of them is wanted here. */
  giveBack(): void {
    for (const entry of this.#entries) entry.decide('back')
    this.#onChange?.()
  }

  drop(entry: GateEntry): void {
    entry.decide('dropped')
    this.#onChange?.()
  }

  /** Waits until somebody came or went, or for the signal. */
  async wait(signal: Signal): Promise<void> {
    let cancel: (() => void) | undefined
    await new Promise<void>((resolve) => {
      this.#onChange = resolve
      cancel = signal(resolve)
    })
    this.#onChange = undefined
    cancel?.()
  }
}
