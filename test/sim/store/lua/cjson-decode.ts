import { fail } from './error.ts'
import { LuaTable, NULL, type Value } from './value.ts'

/** Reads JSON, and what `cjson` takes for it, with its messages. */
export function decode(text: string): Value {
  return new Decoder(text).whole()
}

const DEEPEST = 1_000
const NUMBER = /[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/y
const NOT_FINITE = /[+-]?(?:inf(?:inity)?|nan)/iy

type Token =
  | { readonly kind: Sign; readonly at: number }
  | {
      readonly kind: 'T_STRING' | 'T_NUMBER' | 'T_BOOLEAN' | 'T_NULL'
      readonly value: Value
      readonly at: number
    }
  | { readonly kind: 'error'; readonly message: string; readonly at: number }

const SIGNS = {
  '{': 'T_OBJ_BEGIN',
  '}': 'T_OBJ_END',
  '[': 'T_ARR_BEGIN',
  ']': 'T_ARR_END',
  ':': 'T_COLON',
  ',': 'T_COMMA',
} as const
type Sign = (typeof SIGNS)[keyof typeof SIGNS] | 'T_END'

const WORDS: readonly (readonly [string, 'T_BOOLEAN' | 'T_NULL', Value])[] = [
  ['true', 'T_BOOLEAN', true],
  ['false', 'T_BOOLEAN', false],
  ['null', 'T_NULL', NULL],
]

class Decoder {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): Value {
    // It knows other encodings of Unicode by their zero bytes.
    if (this.#text.length >= 2 && (this.#text[0] === '\0' || this.#text[1] === '\0')) {
      return fail('JSON parser does not support UTF-16 or UTF-32')
    }
    const value = this.#value(this.#next())
    const end = this.#next()
    return end.kind === 'T_END' ? value : this.#expected('the end', end)
  }

  #value(token: Token): Value {
    if ('value' in token) return token.value
    if (token.kind !== 'T_OBJ_BEGIN' && token.kind !== 'T_ARR_BEGIN') return this.#expected('value', token)
    if (++this.#depth > DEEPEST) {
      return fail(`Found too many nested data structures (${this.#depth}) at character ${this.#at}`)
    }
    const value = token.kind === 'T_OBJ_BEGIN' ? this.#object() : this.#array()
    this.#depth--
    return value
  }

  #object(): LuaTable {
    const object = new LuaTable()
    let token = this.#next()
    if (token.kind === 'T_OBJ_END') return object
    for (;;) {
      if (token.kind !== 'T_STRING') return this.#expected('object key string', token)
      const key = token.value
      token = this.#next()
      if (token.kind !== 'T_COLON') return this.#expected('colon', token)
      object.set(key, this.#value(this.#next()))
      token = this.#next()
      if (token.kind === 'T_OBJ_END') return object
      if (token.kind !== 'T_COMMA') return this.#expected('comma or object end', token)
      token = this.#next()
    }
  }

  #array(): LuaTable {
    const array = new LuaTable()
    let token = this.#next()
    if (token.kind === 'T_ARR_END') return array
    for (let key = 1; ; key++) {
      array.set(key, this.#value(token))
      token = this.#next()
      if (token.kind === 'T_ARR_END') return array
      if (token.kind !== 'T_COMMA') return this.#expected('comma or array end', token)
      token = this.#next()
    }
  }

  #expected(what: string, token: Token): never {
    const found = token.kind === 'error' ? token.message : token.kind
    return fail(`Expected ${what} but found ${found} at character ${token.at + 1}`)
  }

  #next(): Token {
    const text = this.#text
    while (this.#at < text.length && ' \t\n\r'.includes(text[this.#at]!)) this.#at++
    const at = this.#at
    const char = text[at]
    if (char === undefined) return { kind: 'T_END', at }
    const sign = SIGNS[char as keyof typeof SIGNS]
    if (sign !== undefined) {
      this.#at++
      return { kind: sign, at }
    }
    if (char === '"') return this.#string(at)
    for (const [word, kind, value] of WORDS) {
      if (!text.startsWith(word, at)) continue
      this.#at += word.length
      return { kind, value, at }
    }
    return this.#number(at)
  }

  #number(at: number): Token {
    for (const pattern of [NOT_FINITE, NUMBER]) {
      pattern.lastIndex = at
      const found = pattern.exec(this.#text)?.[0]
      if (found === undefined || found.startsWith('+')) continue
      this.#at += found.length
      const word = found.toLowerCase()
      if (pattern === NUMBER) {
        const value = word.startsWith('-0x') ? -Number(word.slice(1)) : Number(found)
        return { kind: 'T_NUMBER', value, at }
      }
      const size = word.includes('nan') ? Number.NaN : Number.POSITIVE_INFINITY
      return { kind: 'T_NUMBER', value: word.startsWith('-') ? -size : size, at }
    }
    return { kind: 'error', message: 'invalid token', at }
  }

  #string(start: number): Token {
    const text = this.#text
    let value = ''
    let at = start + 1
    for (;;) {
      let end = at
      while (end < text.length && text[end] !== '"' && text[end] !== '\\' && text[end] !== '\0') end++
      value += text.slice(at, end)
      at = end
      const char = text[at]
      if (char === undefined) return { kind: 'error', message: 'unexpected end of string', at }
      if (char === '"') {
        this.#at = at + 1
        return { kind: 'T_STRING', value, at: start }
      }
      if (char === '\0') {
        value += char
        at++
        continue
      }
      const kind = text[at + 1]
      if (kind === 'u') {
        const [bytes, length] = this.#unicode(at)
        if (length === 0) return { kind: 'error', message: 'invalid unicode escape code', at }
        value += bytes
        at += length
        continue
      }
      const plain = kind === undefined ? undefined : ESCAPES[kind]
      if (plain === undefined) return { kind: 'error', message: 'invalid escape code', at }
      value += plain
      at += 2
    }
  }

  /** The bytes of UTF-8, and how long the escape is; 0 when it is none. */
  #unicode(at: number): readonly [string, number] {
    const first = codeAt(this.#text, at)
    if (first === undefined) return ['', 0]
    if ((first & 0xf800) !== 0xd800) return [bytesOf(first), 6]
    if ((first & 0x400) !== 0) return ['', 0]
    const second = codeAt(this.#text, at + 6)
    if (second === undefined || (second & 0xfc00) !== 0xdc00) return ['', 0]
    return [bytesOf(0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)), 12]
  }
}

function codeAt(text: string, at: number): number | undefined {
  const digits = /^\\u([0-9a-fA-F]{4})$/.exec(text.slice(at, at + 6))?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

function bytesOf(code: number): string {
  return Buffer.from(String.fromCodePoint(code), 'utf8').toString('latin1')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
