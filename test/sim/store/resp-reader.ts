/** A client that does not speak the protocol, which is then sent away. */
export class ProtocolError extends Error {}

const MOST_WORDS = 1_048_576
const LONGEST_WORD = 536_870_912
const LONGEST_LINE = 65_536
/** Words from here on are scripts, mostly; so many of them are remembered by their lengths. */
const LONG = 1_000
const MOST_LONG = 200
const LONGEST_KEPT = 100_000
const longTexts = new Map<number, { readonly bytes: Buffer; readonly text: string }>()

/** Cuts the bytes of a client, however they are split, into commands. A word has one byte in each character. */
export class RespReader {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  push(bytes: Buffer): void {
    const rest = this.#bytes.length - this.#at
    this.#bytes = rest === 0 ? bytes : Buffer.concat([this.#bytes.subarray(this.#at), bytes])
    this.#at = 0
  }

  /** The next whole command; undefined when its end is not there yet. @throws ProtocolError */
  next(): string[] | undefined {
    for (;;) {
      if (this.#at >= this.#bytes.length) return undefined
      const start = this.#at
      const command = this.#bytes[start] === 0x2a ? this.#multibulk() : this.#inline()
      if (command === undefined) {
        this.#at = start
        return undefined
      }
      if (command.length > 0) return command
    }
  }

  #line(): string | undefined {
    const end = this.#bytes.indexOf('\r\n', this.#at, 'latin1')
    if (end === -1) return undefined
    const line = this.#bytes.toString('latin1', this.#at, end)
    this.#at = end + 2
    return line
  }

  #multibulk(): string[] | undefined {
    const count = this.#plainCount(0x2a) ?? this.#oddCount()
    if (count === undefined) return this.#notTooLong('too big mbulk count string')
    const words: string[] = []
    while (words.length < count) {
      const length = this.#plainCount(0x24) ?? this.#oddLength()
      if (length === undefined) return this.#notTooLong('too big bulk count string')
      if (this.#bytes.length < this.#at + length + 2) return undefined
      words.push(length < LONG || length > LONGEST_KEPT ? this.#text(length) : this.#longText(length))
      this.#at += length + 2
    }
    return words
  }

  #text(length: number): string {
    return this.#bytes.toString('latin1', this.#at, this.#at + length)
  }

  /** Scripts come again and again: comparing bytes is faster than making a text, of which the scripts are found by its hash. */
  #longText(length: number): string {
    const bytes = this.#bytes.subarray(this.#at, this.#at + length)
    const known = longTexts.get(length)
    if (known?.bytes.equals(bytes) === true) return known.text
    const text = this.#text(length)
    if (longTexts.size >= MOST_LONG) longTexts.clear()
    longTexts.set(length, { bytes: Buffer.from(bytes), text })
    return text
  }

  /** A line with a short number after its sign, as nearly all are; undefined when it is anything else, or not whole. */
  #plainCount(sign: number): number | undefined {
    const bytes = this.#bytes
    let at = this.#at
    if (bytes[at] !== sign) return undefined
    let value = 0
    let digit = bytes[++at]! - 0x30
    const start = at
    for (; digit >= 0 && digit <= 9; digit = bytes[++at]! - 0x30) value = value * 10 + digit
    if (at === start || at - start > 6 || bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) return undefined
    this.#at = at + 2
    return value
  }

  #oddCount(): number | undefined {
    const head = this.#line()
    if (head === undefined) return undefined
    const count = count64(head.slice(1))
    if (count === undefined || count > MOST_WORDS) {
      throw new ProtocolError('Protocol error: invalid multibulk length')
    }
    return count
  }

  #oddLength(): number | undefined {
    const size = this.#line()
    if (size === undefined) return undefined
    if (size[0] !== '$') throw new ProtocolError(`Protocol error: expected '$', got '${size[0] ?? ' '}'`)
    const length = count64(size.slice(1))
    if (length === undefined || length < 0 || length > LONGEST_WORD) {
      throw new ProtocolError('Protocol error: invalid bulk length')
    }
    return length
  }

  /** As people type it. */
  #inline(): string[] | undefined {
    const end = this.#bytes.indexOf(0x0a, this.#at)
    if (end === -1) return this.#notTooLong('too big inline request')
    const line = this.#bytes.toString('latin1', this.#at, end).replace(/\r$/, '')
    this.#at = end + 1
    return line.split(/\s+/).filter((word) => word !== '')
  }

  #notTooLong(message: string): undefined {
    if (this.#bytes.length - this.#at > LONGEST_LINE) throw new ProtocolError(`Protocol error: ${message}`)
    return undefined
  }
}

function count64(text: string): number | undefined {
  return /^-?\d{1,18}$/.test(text) ? Number(text) : undefined
}
