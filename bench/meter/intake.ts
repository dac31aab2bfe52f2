/** What was let in, and when, in milliseconds. */
export class Intake {
  readonly #times: number[] = []
  readonly #amounts: number[] = []
  total = 0

  add(at: number, amount: number): void {
    this.#times.push(at)
    this.#amounts.push(amount)
    this.total += amount
  }

  /** The most that any window of this length holds, wherever it begins; it is open at its end. */
  mostWithin(lengthMs: number): number {
    let most = 0
    let within = 0
    let first = 0
    for (const [index, at] of this.#times.entries()) {
      within += this.#amounts[index]!
      for (; at - this.#times[first]! >= lengthMs; first++) within -= this.#amounts[first]!
      most = Math.max(most, within)
    }
    return most
  }
}
