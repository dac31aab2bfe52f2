import type { GateEntry, Signal } from './gate-entry.ts'

/** The jobs of one bucket that wait at the gate of this process, in the order in which they came. */
export class BucketQueue {
  #entries: GateEntry[] = []
  #lastEpoch = 0
  #onChange: (() => void) | undefined

  get size(): number {
    return this.#entries.length
  }

  add(entry: GateEntry): void {
    this.#entries.push(entry)
    this.#lastEpoch = Math.max(this.#lastEpoch, entry.job.epoch)
    this.#onChange?.()
  }

  /** The highest epoch of all that came. */
  get lastEpoch(): number {
    return this.#lastEpoch
  }

  /** Whether it came before all others that wait. */
  isFirst(entry: GateEntry): boolean {
    return this.#entries.find(({ isOpen }) => isOpen) === entry
  }

  /** Removes the entries that do not wait any more. */
  sweep(): void {
    this.#entries = this.#entries.filter(({ isOpen }) => isOpen)
  }

  /**
   * The entry that asks the store next, if it may by now. Deliveries come in no reliable order: an entry that has to wait lets
   * those behind it ask, because one of them may be the head of the line. It comes after all that could have asked before it:
   * where an answer takes longer than it says to wait, the first two would keep all others from asking.
   */
  next(now: number): GateEntry | undefined {
    const at = this.nextAsk
    return at <= now ? this.#entries.find(({ askAt }) => askAt === at) : undefined
  }

  /** When the next entry may ask. */
  get nextAsk(): number {
    return this.#entries.reduce((earliest, { askAt }) => Math.min(earliest, askAt), Number.POSITIVE_INFINITY)
  }

  /** Lets all entries ask at once: one of them has started or left, so any may be next. */
  askAgain(): void {
    for (const entry of this.#entries) entry.askAt = 0
  }

  /** Gives all entries back to their line; where that is urgent, another worker may have them at once. */
  giveBack(isUrgent = false): void {
    for (const entry of this.#entries) {
      entry.isUrgent = isUrgent
      entry.decide('back')
    }
    this.#onChange?.()
  }

  /** The job went back to its line, and with it all that were handed over behind it: of a run, that is known. */
  dropBehind({ job }: GateEntry): void {
    for (const entry of this.#entries) {
      if (entry.following !== undefined && entry.job.epoch > job.epoch) entry.decide('dropped')
    }
  }

  drop(entry: GateEntry): void {
    entry.decide('dropped')
    this.#onChange?.()
  }

  /** Resolves when an entry comes or goes, or with the signal. */
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
