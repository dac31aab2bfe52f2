import { fail } from './error.ts'
import { classEnd, inSet, isSingle } from './pattern-items.ts'

/** The patterns of Lua, matched as its own string library does. */

/** A part of the text, or the place of an empty `()`. */
export type Capture = string | number

const MOST_CAPTURES = 32
const OPEN = -1
const POSITION = -2

const ESCAPE = 0x25

export class Matcher {
  readonly text: string
  readonly pattern: string
  #starts: number[] = []
  #lengths: number[] = []

  constructor(text: string, pattern: string) {
    this.text = text
    this.pattern = pattern
  }

  /** Where a match that begins there ends; -1 when none does. */
  match(start: number, from: number): number {
    this.#starts = []
    this.#lengths = []
    return this.#do(start, from)
  }

  get count(): number {
    return this.#starts.length
  }

  /** The captures of the last match; the whole of it when the pattern has none. */
  captures(start: number, end: number): Capture[] {
    if (this.#starts.length === 0) return [this.text.slice(start, end)]
    return this.#starts.map((_, index) => this.capture(index))
  }

  capture(index: number): Capture {
    const length = this.#lengths[index]!
    const start = this.#starts[index]!
    if (length === OPEN) return fail('unfinished capture')
    return length === POSITION ? start + 1 : this.text.slice(start, start + length)
  }

  #do(from: number, at: number): number {
    const { text, pattern } = this
    let s = from
    let p = at
    for (;;) {
      if (p >= pattern.length) return s
      const code = pattern.charCodeAt(p)
      if (code === 0x28) {
        return pattern[p + 1] === ')' ? this.#open(s, p + 2, POSITION) : this.#open(s, p + 1, OPEN)
      }
      if (code === 0x29) return this.#close(s, p + 1)
      if (code === 0x24 && p + 1 === pattern.length) return s === text.length ? s : -1
      if (code === ESCAPE) {
        const next = pattern[p + 1]
        if (next === 'b') {
          s = this.#balance(s, p + 2)
          if (s === -1) return -1
          p += 4
          continue
        }
        if (next === 'f') {
          const set = p + 2
          if (pattern[set] !== '[') fail("missing '[' after '%f' in pattern")
          const end = classEnd(pattern, set)
          const before = s === 0 ? 0 : text.charCodeAt(s - 1)
          const here = s < text.length ? text.charCodeAt(s) : 0
          if (inSet(pattern, before, set, end - 1) || !inSet(pattern, here, set, end - 1)) return -1
          p = end
          continue
        }
        if (next !== undefined && next >= '0' && next <= '9') {
          s = this.#back(s, next)
          if (s === -1) return -1
          p += 2
          continue
        }
      }
      const end = classEnd(pattern, p)
      const suffix = pattern[end]
      if (suffix === '?') {
        if (this.#one(s, p, end)) {
          const found = this.#do(s + 1, end + 1)
          if (found !== -1) return found
        }
        p = end + 1
        continue
      }
      if (suffix === '*') return this.#most(s, p, end, 0)
      if (suffix === '+') return this.#most(s, p, end, 1)
      if (suffix === '-') return this.#least(s, p, end)
      if (!this.#one(s, p, end)) return -1
      s++
      p = end
    }
  }

  #open(s: number, p: number, what: number): number {
    const level = this.#starts.length
    if (level >= MOST_CAPTURES) fail('too many captures')
    this.#starts.push(s)
    this.#lengths.push(what)
    const found = this.#do(s, p)
    if (found === -1) {
      this.#starts.length = level
      this.#lengths.length = level
    }
    return found
  }

  #close(s: number, p: number): number {
    const level = this.#lengths.lastIndexOf(OPEN)
    if (level === -1) fail('invalid pattern capture')
    this.#lengths[level] = s - this.#starts[level]!
    const found = this.#do(s, p)
    if (found === -1) this.#lengths[level] = OPEN
    return found
  }

  #balance(s: number, p: number): number {
    const { text, pattern } = this
    if (p + 1 >= pattern.length) fail('unbalanced pattern')
    const [begin, end] = [pattern[p], pattern[p + 1]]
    if (s >= text.length || text[s] !== begin) return -1
    let depth = 1
    for (let index = s + 1; index < text.length; index++) {
      if (text[index] === end) {
        if (--depth === 0) return index + 1
      } else if (text[index] === begin) depth++
    }
    return -1
  }

  #back(s: number, digit: string): number {
    const level = Number(digit) - 1
    if (level < 0 || level >= this.#starts.length || this.#lengths[level] === OPEN) {
      fail('invalid capture index')
    }
    const start = this.#starts[level]!
    const part = this.text.slice(start, start + this.#lengths[level]!)
    return this.text.startsWith(part, s) ? s + part.length : -1
  }

  #most(s: number, p: number, end: number, least: number): number {
    let count = 0
    while (this.#one(s + count, p, end)) count++
    for (; count >= least; count--) {
      const found = this.#do(s + count, end + 1)
      if (found !== -1) return found
    }
    return -1
  }

  #least(from: number, p: number, end: number): number {
    for (let s = from; ; s++) {
      const found = this.#do(s, end + 1)
      if (found !== -1) return found
      if (!this.#one(s, p, end)) return -1
    }
  }

  #one(s: number, p: number, end: number): boolean {
    return s < this.text.length && isSingle(this.pattern, p, end, this.text.charCodeAt(s))
  }
}
