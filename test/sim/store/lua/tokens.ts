import { LuaSyntaxError, type Token, tokenize } from './lexer.ts'

/** The tokens of a script, read one after the other. */
export class Tokens {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(source: string) {
    this.#tokens = tokenize(source)
  }

  /** @throws LuaSyntaxError where no token could be read */
  get current(): Token {
    const token = this.#tokens[this.#at]!
    if (token.kind === 'wrong') throw token.error
    return token
  }

  get next(): Token {
    return this.#tokens[this.#at + 1] ?? this.current
  }

  /** Whether no further statement of the block can follow. */
  get endsBlock(): boolean {
    return this.current.kind === 'end' || ['end', 'else', 'elseif', 'until'].some((word) => this.is(word))
  }

  /** Whether the arguments of a call stand here. */
  get startsArguments(): boolean {
    const { kind } = this.current
    return kind === 'string' || this.is('(') || this.is('{')
  }

  advance(): void {
    if (this.#at < this.#tokens.length - 1) this.#at++
  }

  /** Whether it is this sign or word. */
  is(text: string): boolean {
    const { kind, text: found } = this.current
    return found === text && (kind === 'sign' || kind === 'word')
  }

  accept(text: string): boolean {
    if (!this.is(text)) return false
    this.advance()
    return true
  }

  expect(text: string, opening?: string, line?: number): void {
    if (this.accept(text)) return
    if (opening === undefined || line === this.current.line) throw this.expected(text)
    throw this.error(`'${text}' expected (to close '${opening}' at line ${line}) near '${this.current.text}'`)
  }

  name(): string {
    const { kind, text } = this.current
    if (kind !== 'name') throw this.expected('<name>')
    this.advance()
    return text
  }

  expected(what: string): LuaSyntaxError {
    const shown = what.startsWith('<name') ? what : `'${what}'`
    return this.error(`${shown} expected near '${this.current.text}'`)
  }

  error(message: string): LuaSyntaxError {
    return new LuaSyntaxError(`user_script:${this.current.line}: ${message}`)
  }
}
