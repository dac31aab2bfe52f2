import type { Signal, Ticket } from './ticket.ts'

/** Jobs of one bucket that wait at the gate of this process, in the order in which they came. */
export class BucketQueue {
  #tickets: Ticket[] = []
  #onChange: (() => void) | undefined

  get size(): number {
    return this.#tickets.length
  }

  add(ticket: Ticket): void {
    this.#tickets.push(ticket)
    this.#onChange?.()
  }

  /** Takes out those who wait no more. */
  sweep(): void {
    this.#tickets = this.#tickets.filter(({ isOpen }) => isOpen)
  }

  /**
   * The first who may ask the store now. They come in no order to rely on: one who was told that it is not his turn
   * makes way for those behind him, of whom one may be the one that everybody waits for.
   */
  first(now: number): Ticket | undefined {
    return this.#tickets.find(({ askAt }) => askAt <= now)
  }

  /** When somebody may ask. */
  get nextAsk(): number {
    return this.#tickets.reduce((earliest, { askAt }) => Math.min(earliest, askAt), Number.POSITIVE_INFINITY)
  }

  /** One of them has started or gone, so it may be anybody's turn. */
  noteLeaving(): void {
    for (const ticket of this.#tickets) ticket.askAt = 0
  }

  /** None of them is wanted here. */
  giveBack(): void {
    for (const ticket of this.#tickets) ticket.decide('back')
    this.#onChange?.()
  }

  drop(ticket: Ticket): void {
    ticket.decide('dropped')
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
