import type { Keyspace } from '../keyspace.ts'
import type { Reply } from '../reply.ts'

/** Who runs a command, and on what. */
export interface Caller {
  readonly db: Keyspace
  /** The time at which the command began. */
  readonly nowMs: number
  /** The time right now. */
  nowUs(): number
  /** From 0 up to, and without, 1. */
  random(): number
}

/** A command that has found nothing yet. In a script or a transaction it answers at once. */
export class Wait {
  readonly keys: readonly string[]
  /** Microseconds; 0: for ever. */
  readonly timeout: number
  /** Undefined as long as there is nothing. */
  readonly attempt: () => Reply | undefined
  readonly onTimeout: Reply

  constructor(keys: readonly string[], timeout: number, attempt: () => Reply | undefined, onTimeout: Reply) {
    this.keys = keys
    this.timeout = timeout
    this.attempt = attempt
    this.onTimeout = onTimeout
  }
}

export interface Command {
  readonly name: string
  /** How many words it has, its name included; negative: at least so many. */
  readonly arity: number
  readonly writes: boolean
  /** Refused when the memory is full. */
  readonly grows: boolean
  run(caller: Caller, args: readonly string[]): Reply | Wait
}

type Run = Command['run']

/** A command that changes nothing. */
export function reads(name: string, arity: number, run: Run): Command {
  return { name, arity, run, writes: false, grows: false }
}

/** A command that may need more memory. */
export function grows(name: string, arity: number, run: Run): Command {
  return { name, arity, run, writes: true, grows: true }
}

/** A command that changes something, but needs no memory. */
export function writes(name: string, arity: number, run: Run): Command {
  return { name, arity, run, writes: true, grows: false }
}
