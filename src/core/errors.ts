import { quote } from './describe.ts'

/**
 * Every error that this package throws on purpose. A refusal at the rope is not among them: it is a value.
 *
 * Each class has a stable `code`, so that callers can tell errors apart across copies of the package, and each
 * message says what was expected and what came.
 */
export class VelvetRopeError extends Error {
  /** Stable and documented; the message may change, this may not. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** A limit, rate or duration that cannot be understood or kept. */
export class InvalidLimitError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-limit', message)
  }
}

/** A key or a pattern that is empty, too long or not plain text. */
export class InvalidKeyError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-key', message)
  }
}

/** Data that would not come out of JSON as it went in. */
export class InvalidDataError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-data', message)
  }
}

/** Data of more bytes than the shaper takes (`maxDataBytes`): nothing was admitted. Or a result that is too large to be kept. */
export class DataTooLargeError extends VelvetRopeError {
  readonly bytes: number
  readonly maxBytes: number

  constructor(bytes: number, maxBytes: number, what: 'data' | 'a result' = 'data') {
    const setting = what === 'data' ? ' (maxDataBytes)' : ''
    super('data-too-large', `expected ${what} of at most ${maxBytes} bytes as JSON${setting}, got: ${bytes}`)
    this.bytes = bytes
    this.maxBytes = maxBytes
  }
}

/** An option that is unknown, missing or out of range. */
export class InvalidOptionsError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-options', message)
  }
}

/** No pattern of the rule book matches the key. A key without a limit is refused, never unlimited. */
export class NoLimitError extends VelvetRopeError {
  readonly key: string

  constructor(key: string) {
    super(
      'no-limit',
      `no limit governs the key ${quote(key)}: add a pattern that matches it, or '*' for every key`,
    )
    this.key = key
  }
}

/** The id names another job already: same id, other key, data or cost. */
export class IdConflictError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('id-conflict', `the id ${quote(id)} was given to a job with another key, data or cost`)
    this.id = id
  }
}

/** The store of the line cannot be reached; nothing was accepted. */
export class BackendUnavailableError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('backend-unavailable', message, options)
  }
}

/** The Redis that was found cannot keep the laws: too old, a replica, or one that evicts keys. */
export class UnfitRedisError extends VelvetRopeError {
  constructor(message: string) {
    super('unfit-redis', message)
  }
}

/** The line has another number of shards than this process was given; nothing was changed. */
export class ShardCountError extends VelvetRopeError {
  /** Of the line. */
  readonly expected: number
  /** Of this process. */
  readonly shards: number

  /** @param jobs found in one shard, which keep the line from changing its number */
  constructor(expected: number, shards: number, jobs = 0) {
    const found = jobs > 0 ? `; ${jobs} jobs of one shard have not ended` : ''
    super(
      'shard-count',
      `expected shards: ${expected}, as the line has, got: ${shards}${found}; the number can change when no job ` +
        'waits or runs and all processes have been stopped for five seconds',
    )
    this.expected = expected
    this.shards = shards
  }
}

/** Under a name of ours the store holds something that we did not write; it was left as it was. */
export class ForeignValueError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('foreign-value', message, options)
  }
}

/** The limits that a process brought are not in force, but newer ones in their place; these stay. */
export class OldRuleBookError extends VelvetRopeError {
  constructor(message: string) {
    super('old-rule-book', message)
  }
}

/** The rule book is not of the version that a change was meant for; nothing was changed. */
export class RuleBookConflictError extends VelvetRopeError {
  /** That of the change. */
  readonly expected: number
  /** The one in force. */
  readonly version: number

  constructor(expected: number, version: number) {
    super(
      'rule-book-conflict',
      `expected version ${expected} of the rule book to be in force, got: version ${version}; nothing was changed`,
    )
    this.expected = expected
    this.version = version
  }
}

/** The shaper was closed, or is closing. */
export class ShaperClosedError extends VelvetRopeError {
  constructor(name: string) {
    super('closed', `the shaper ${quote(name)} is closed and accepts nothing more`)
  }
}

/** The meter was closed. */
export class MeterClosedError extends VelvetRopeError {
  constructor(name: string) {
    super('closed', `the meter ${quote(name)} is closed and counts nothing more`)
  }
}

/** A line of input that cannot be read, and where it stands. */
export class InvalidInputError extends VelvetRopeError {
  readonly file: string
  readonly line: number
  readonly column: number

  constructor(at: { file: string; line: number; column: number }, message: string) {
    super('invalid-input', `${at.file}:${at.line}:${at.column}: ${message}`)
    this.file = at.file
    this.line = at.line
    this.column = at.column
  }
}

/** Whether `error` is one of ours; with `code`, whether it is that one. Works across copies of the package. */
export function isVelvetRopeError(error: unknown, code?: string): error is VelvetRopeError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    (error instanceof VelvetRopeError || KNOWN_NAMES.has(error.name)) &&
    (code === undefined || error.code === code)
  )
}

const KNOWN_NAMES: ReadonlySet<string> = new Set([
  'InvalidLimitError',
  'InvalidKeyError',
  'InvalidDataError',
  'DataTooLargeError',
  'InvalidOptionsError',
  'NoLimitError',
  'IdConflictError',
  'TurnRefusedError',
  'TurnTimeoutError',
  'TurnCancelledError',
  'BackendUnavailableError',
  'UnfitRedisError',
  'ShardCountError',
  'ForeignValueError',
  'OldRuleBookError',
  'RuleBookConflictError',
  'ShaperClosedError',
  'MeterClosedError',
  'LeaseLostError',
  'StartedLateError',
  'WorkerLostError',
  'HandlerTimeoutError',
  'NotAnErrorError',
  'FreezeError',
  'FinalError',
  'InvalidInputError',
])
