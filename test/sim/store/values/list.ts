const OVERHEAD = 12

/** A list with room at both ends: an array in which the first item may stand anywhere. */
export class ListValue {
  readonly type = 'list'
  bytes = 0
  #items: string[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  at(index: number): string | undefined {
    return this.#items[this.#head + index]
  }

  set(index: number, value: string): void {
    this.bytes += value.length - this.at(index)!.length
    this.#items[this.#head + index] = value
  }

  pushRight(value: string): void {
    this.#items.push(value)
    this.bytes += OVERHEAD + value.length
  }

  pushLeft(value: string): void {
    if (this.#head === 0) {
      const room = Math.max(8, this.#items.length)
      this.#items = [...new Array<string>(room).fill(''), ...this.#items]
      this.#head = room
    }
    this.#items[--this.#head] = value
    this.bytes += OVERHEAD + value.length
  }

  popLeft(): string | undefined {
    if (this.size === 0) return undefined
    const value = this.#items[this.#head]!
    this.#items[this.#head++] = ''
    this.bytes -= OVERHEAD + value.length
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return value
  }

  popRight(): string | undefined {
    if (this.size === 0) return undefined
    const value = this.#items.pop()!
    this.bytes -= OVERHEAD + value.length
    return value
  }

  /** From `start` up to, and without, `end`. */
  slice(start: number, end: number): string[] {
    return this.#items.slice(this.#head + start, this.#head + end)
  }

  replace(items: string[]): void {
    this.#items = items
    this.#head = 0
    this.bytes = items.reduce((sum, { length }) => sum + OVERHEAD + length, 0)
  }

  remove(index: number): void {
    if (index === 0) this.popLeft()
    else if (index === this.size - 1) this.popRight()
    else this.bytes -= OVERHEAD + this.#items.splice(this.#head + index, 1)[0]!.length
  }

  insert(index: number, value: string): void {
    this.#items.splice(this.#head + index, 0, value)
    this.bytes += OVERHEAD + value.length
  }

  copy(): ListValue {
    const copy = new ListValue()
    copy.#items = this.slice(0, this.size)
    copy.bytes = this.bytes
    return copy
  }
}
