/** A queue whose first element costs the same to take, whatever its length. */
export class Fifo<Element> {
  #elements: Element[] = []
  #head = 0

  get size(): number {
    return this.#elements.length - this.#head
  }

  get first(): Element | undefined {
    return this.#elements[this.#head]
  }

  push(element: Element): void {
    this.#elements.push(element)
  }

  shift(): Element | undefined {
    const element = this.#elements[this.#head]
    if (element === undefined) return undefined
    this.#head++
    // Cut only when half is gone: moving the rest then costs less than what was taken.
    if (this.#head > this.#elements.length / 2) {
      this.#elements = this.#elements.slice(this.#head)
      this.#head = 0
    }
    return element
  }
}
