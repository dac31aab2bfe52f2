/** A reply as it was sent: a line with its sign, a text after `$` or `=`, or a list whose first item is its sign and length. */
export type RawReply = string | readonly RawReply[]

/** Reads replies of either protocol without giving up anything of what was sent. */
export class ReplyReader {
  #text = ''
  #at = 0

  push(bytes: Buffer): void {
    this.#text = this.#text.slice(this.#at) + bytes.toString('latin1')
    this.#at = 0
  }

  /** Undefined as long as the next one is not whole. */
  next(): RawReply | undefined {
    const start = this.#at
    const reply = this.#read()
    if (reply === undefined) this.#at = start
    return reply
  }

  #read(): RawReply | undefined {
    const end = this.#text.indexOf('\r\n', this.#at)
    if (end === -1) return undefined
    const line = this.#text.slice(this.#at, end)
    this.#at = end + 2
    const length = Number(line.slice(1))
    if ((line[0] === '$' || line[0] === '=') && length >= 0) {
      if (this.#text.length < this.#at + length + 2) return undefined
      const text = this.#text.slice(this.#at, this.#at + length)
      this.#at += length + 2
      return `${line[0]}${text}`
    }
    if (!'*%~>'.includes(line[0]!) || length < 0) return line
    const items: RawReply[] = [line]
    const count = line[0] === '%' ? length * 2 : length
    while (items.length <= count) {
      const item = this.#read()
      if (item === undefined) return undefined
      items.push(item)
    }
    return items
  }
}
