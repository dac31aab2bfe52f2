import { quote } from './describe.ts'

/**
 * Base class of every error that this package throws on purpose. A rejection is not an error but a return value.
 *
 * Each class has a stable `code`, so that callers can distinguish errors across copies of the package. Each message
 * says what was expected and what came instead.
 */
export class VelvetRopeError extends Error {
  /** Stable and documented; the message may change. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** A limit, rate or duration is malformed or out of range. */
export class InvalidLimitError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-limit', message)
  }
}

/** A key or a pattern is empty, too long or not plain text. */
export class InvalidKeyError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-key', message)
  }
}

/** The data of a job cannot be represented in JSON without loss. */
export class InvalidDataError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-data', message)
  }
}

/** The data of a job exceeds `maxDataBytes`, and nothing was admitted; or a result is too large to be stored. */
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

/** An option is unknown, missing or out of range. */
export class InvalidOptionsError extends VelvetRopeError {
  constructor(message: string) {
    super('invalid-options', message)
  }
}

/**
 * No pattern of the rule book matches the key, or no total is that of the family, whose name ends in `/`. A key without a limit is
 * rejected, never unlimited.
 */
export class NoLimitError extends VelvetRopeError {
  readonly key: string

  constructor(key: string) {
    super(
      'no-limit',
      key.endsWith('/')
        ? `no total limits the family ${quote(key)}: add one with this pattern, or one with * in place of a segment`
        : `no limit applies to the key ${quote(key)}: add a pattern that matches it, or '*' for every key`,
    )
    this.key = key
  }
}

/** The id is already used by a job with a different key, data or cost. */
export class IdConflictError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('id-conflict', `the id ${quote(id)} is already used by a job with a different key, data or cost`)
    this.id = id
  }
}

/** A start was settled, or a meter filled, in a unit that no quota of the limit counts. Nothing was changed. */
export class UnknownUnitError extends VelvetRopeError {
  readonly key: string
  readonly unit: string
  /** The units of the limit. */
  readonly units: readonly string[]

  constructor(key: string, unit: string, units: readonly string[]) {
    const known = units.length === 0 ? 'it has none' : `known are ${units.join(', ')}`
    super('unknown-unit', `no quota of the limit of the key ${quote(key)} counts ${quote(unit)}: ${known}`)
    this.key = key
    this.unit = unit
    this.units = units
  }
}

/**
 * The store cannot be reached. Nothing was accepted, unless the reply to an accepted request was lost: retry it with
 * the same id.
 */
export class BackendUnavailableError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('backend-unavailable', message, options)
  }
}

/** The Redis server cannot keep the guarantees: it is too old, a replica, or configured to evict keys. */
export class UnfitRedisError extends VelvetRopeError {
  constructor(message: string) {
    super('unfit-redis', message)
  }
}

/** The line has a different number of shards than this process was given. Nothing was changed. */
export class ShardCountError extends VelvetRopeError {
  /** The number of the line. */
  readonly expected: number
  /** The number of this process. */
  readonly shards: number

  /**
   * @param jobs found in one shard; while there are any, the line cannot change its number of shards
   */
  constructor(expected: number, shards: number, jobs = 0) {
    const found = jobs > 0 ? `; ${jobs} jobs of one shard have not ended` : ''
    super(
      'shard-count',
      `expected shards: ${expected}, the number of this line, got: ${shards}${found}; the number can change once no job ` +
        'waits or runs and all processes have been stopped for five seconds',
    )
    this.expected = expected
    this.shards = shards
  }
}

/** A key of the line holds a value that velvet-rope did not write. The value was not changed. */
export class ForeignValueError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('foreign-value', message, options)
  }
}

/** The shaper is closed or closing. */
export class ShaperClosedError extends VelvetRopeError {
  constructor(name: string) {
    super('closed', `the shaper ${quote(name)} is closed and accepts no more jobs`)
  }
}

/** The meter is closed. */
export class MeterClosedError extends VelvetRopeError {
  constructor(name: string) {
    super('closed', `the meter ${quote(name)} is closed and can no longer be filled`)
  }
}

/** A line of an input file is malformed; `line` and `column` say where. */
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

/**
 * Whether `error` is a velvet-rope error and, if `code` is given, has that code. Works across copies of the package.
 */
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
  'UnknownUnitError',
  'UnknownZoneError',
  'TurnRefusedError',
  'TurnTimeoutError',
  'TurnCancelledError',
  'BackendUnavailableError',
  'UnfitRedisError',
  'ShardCountError',
  'ForeignValueError',
  'OldRuleBookError',
  'RuleBookConflictError',
  'TooManyRulesError',
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
