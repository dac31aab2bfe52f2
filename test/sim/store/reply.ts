import { exact } from './lua/numbers.ts'

/**
 * What a command answers: a text is a bulk string, a number an integer, null a missing bulk string. Texts hold one byte in each
 * character.
 */
export type Reply =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly Reply[]
  | Status
  | ErrorReply
  | Double
  | Verbatim
  | Written
  | Flat
  | typeof NO_LIST

export class Status {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export class ErrorReply {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** A score: a number to clients of RESP3, and a text to others. */
export class Double {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }

  get text(): string {
    return exact(this.value)
  }
}

/**
 * A list to clients of RESP2, flat except of streams, where it is a list of pairs. To those of RESP3 a map, a set, or a list of
 * pairs.
 */
export type FlatKind = 'map' | 'set' | 'pairs' | 'streams'

export class Flat {
  readonly kind: FlatKind
  readonly items: readonly Reply[]
  constructor(kind: FlatKind, items: readonly Reply[]) {
    this.kind = kind
    this.items = items
  }
}

/** A text for people, which RESP3 marks as such. */
export class Verbatim {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A reply as bytes already, one in each character: a transaction may change the protocol between two of its replies. */
export class Written {
  readonly bytes: string
  constructor(bytes: string) {
    this.bytes = bytes
  }
}

/** A missing list. */
export const NO_LIST = Symbol('no list')
export const OK = new Status('OK')

/** Ends a command with an error reply. */
export class CommandError {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

export function refuse(message: string): never {
  throw new CommandError(message)
}

export const SYNTAX = 'ERR syntax error'
export const NO_INTEGER = 'ERR value is not an integer or out of range'
export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'
