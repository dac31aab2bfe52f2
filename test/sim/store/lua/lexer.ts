/** Splits the text of a Lua 5.1 script into tokens. */

export type Token =
  | {
      readonly kind: 'name' | 'string' | 'sign' | 'word' | 'end'
      readonly text: string
      readonly line: number
    }
  | { readonly kind: 'number'; readonly value: number; readonly text: string; readonly line: number }
  | { readonly kind: 'wrong'; readonly error: LuaSyntaxError; readonly text: ''; readonly line: number }

export class LuaSyntaxError extends Error {}

const WORDS = new Set(
  (
    'and break do else elseif end false for function if in local nil not or repeat return then true until ' +
    'while'
  ).split(' '),
)
const SIGNS = /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.]/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
const LONG = /\[(=*)\[/y

export function tokenize(source: string): Token[] {
  return new Lexer(source).all()
}

class Lexer {
  readonly #source: string
  readonly #tokens: Token[] = []
  #at = 0
  #line = 1

  constructor(source: string) {
    this.#source = source
  }

  all(): Token[] {
    try {
      for (;;) {
        this.#skip()
        if (this.#at >= this.#source.length) break
        this.#token()
      }
    } catch (error) {
      if (!(error instanceof LuaSyntaxError)) throw error
      // Another mistake may stand before it, and is found first.
      this.#tokens.push({ kind: 'wrong', error, text: '', line: this.#line })
    }
    this.#tokens.push({ kind: 'end', text: '<eof>', line: this.#line })
    return this.#tokens
  }

  /** Spaces, lines and comments. */
  #skip(): void {
    for (;;) {
      const char = this.#source[this.#at]
      if (char === '\n') this.#line++
      else if (char === '-' && this.#source[this.#at + 1] === '-') {
        this.#comment()
        continue
      } else if (char === undefined || !' \t\r\v\f'.includes(char)) return
      this.#at++
    }
  }

  #comment(): void {
    this.#at += 2
    if (this.#match(LONG) === undefined) {
      const end = this.#source.indexOf('\n', this.#at)
      this.#at = end === -1 ? this.#source.length : end
    } else this.#long('comment')
  }

  #token(): void {
    const line = this.#line
    const char = this.#source[this.#at]!
    if (char === '"' || char === "'") {
      const text = this.#quoted(char)
      this.#tokens.push({ kind: 'string', text, line: this.#line })
      return
    }
    if (this.#match(LONG) !== undefined) {
      const text = this.#long('string')
      this.#tokens.push({ kind: 'string', text, line: this.#line })
      return
    }
    const name = this.#take(NAME)
    if (name !== undefined) {
      this.#tokens.push({ kind: WORDS.has(name) ? 'word' : 'name', text: name, line })
      return
    }
    const number = this.#take(NUMBER)
    if (number !== undefined) {
      if (this.#match(NAME) !== undefined) throw this.#error(`malformed number near '${number}'`)
      this.#tokens.push({ kind: 'number', value: Number(number), text: number, line })
      return
    }
    const sign = this.#take(SIGNS)
    if (sign === undefined) throw this.#error(`unexpected symbol near '${shownCharacter(char)}'`)
    this.#tokens.push({ kind: 'sign', text: sign, line })
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#source) ?? undefined
  }

  #take(pattern: RegExp): string | undefined {
    const found = this.#match(pattern)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #long(what: string): string {
    const [opening, signs] = this.#match(LONG)!
    const start = this.#at + opening.length
    const closing = `]${signs}]`
    const end = this.#source.indexOf(closing, start)
    if (end === -1) throw this.#error(`unfinished long ${what} near '<eof>'`)
    this.#at = end + closing.length
    const text = this.#source.slice(start, end).replace(/\r\n?|\n\r/g, '\n')
    this.#line += text.split('\n').length - 1
    return text.startsWith('\n') ? text.slice(1) : text
  }

  #quoted(quote: string): string {
    let text = ''
    let at = this.#at + 1
    for (;;) {
      const char = this.#source[at++]
      if (char === quote) break
      if (char === undefined || char === '\n') throw this.#error(`unfinished string near '${quote}${text}'`)
      if (char !== '\\') {
        text += char
        continue
      }
      const kind = this.#source[at]
      const digits = /^\d{1,3}/.exec(this.#source.slice(at, at + 3))?.[0]
      if (digits !== undefined) {
        if (Number(digits) > 255) throw this.#error(`escape sequence too large near '${quote}${text}'`)
        text += String.fromCharCode(Number(digits))
        at += digits.length
        continue
      }
      if (kind === '\n') this.#line++
      text += ESCAPES[kind ?? ''] ?? kind ?? ''
      at++
    }
    this.#at = at
    return text
  }

  #error(message: string): LuaSyntaxError {
    return new LuaSyntaxError(`user_script:${this.#line}: ${message}`)
  }
}

function shownCharacter(char: string): string {
  const code = char.charCodeAt(0)
  return code < 32 || code === 127 ? `char(${code})` : char
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
