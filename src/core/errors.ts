import { describe, quote } from './describe.ts'

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

/** Data of more bytes than the shaper takes (`maxDataBytes`); nothing was admitted. */
export class DataTooLargeError extends VelvetRopeError {
  readonly bytes: number
  readonly maxBytes: number

  constructor(bytes: number, maxBytes: number) {
    super(
      'data-too-large',
      `expected data of at most ${maxBytes} bytes as JSON (maxDataBytes), got: ${bytes}`,
    )
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

/**
 * The lease of a running job was lost: its worker stood still, or could not reach the store, for too long. Another
 * worker may run the job; what this handler did is not counted. Aborts the job's signal.
 */
export class LeaseLostError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super(
      'lease-lost',
      `the lease of job ${quote(id)} was lost: its handler may run again, and its outcome is not kept`,
    )
    this.id = id
  }
}

/**
 * A handler was called in time, but its process stood still before the handler's first statement, until the slot was
 * past. Aborts the job's signal. When the handler fails with this error, the job goes back to its line with its attempt.
 */
export class StartedLateError extends VelvetRopeError {
  readonly id: string
  /** Milliseconds after the last moment at which it might have started. */
  readonly lateMs: number

  constructor(id: string, lateMs: number) {
    super(
      'started-late',
      `job ${quote(id)} was started ${Math.ceil(lateMs)} ms too late: its process stood still in between`,
    )
    this.id = id
    this.lateMs = lateMs
  }
}

/** The workers of a job died or stood still while it ran, once too often; the job failed. */
export class WorkerLostError extends VelvetRopeError {
  readonly id: string

  constructor(id: string) {
    super('worker-lost', `job ${quote(id)} failed: each of its workers died or stood still while it ran`)
    this.id = id
  }
}

/** A handler did not settle within `timeoutMs`; its attempt counts as failed and its signal was aborted. */
export class HandlerTimeoutError extends VelvetRopeError {
  readonly timeoutMs: number

  constructor(id: string, timeoutMs: number) {
    super('handler-timeout', `the handler of job ${quote(id)} did not settle within ${timeoutMs} ms`)
    this.timeoutMs = timeoutMs
  }
}

/**
 * Thrown by a handler: the other side said to come back later (429 and Retry-After, say). The bucket departs
 * nothing for `forMs`, the job goes back to the head of its line, and no attempt is used up.
 */
export class FreezeError extends VelvetRopeError {
  readonly forMs: number

  constructor(options: { forMs: number }) {
    const forMs: unknown = options?.forMs
    if (!(typeof forMs === 'number' && forMs > 0 && forMs <= LONGEST_FREEZE_MS)) {
      throw new InvalidOptionsError(
        `expected forMs to be a number of milliseconds above 0 and at most 366 days, got: ${describe(forMs)}`,
      )
    }
    super('freeze', `freeze the bucket for ${forMs} ms`)
    this.forMs = forMs
  }
}

export const LONGEST_FREEZE_MS = 366 * 86_400_000

/** Thrown by a handler: to try again would not help. The job fails now, whatever attempts it has left. */
export class FinalError extends VelvetRopeError {
  constructor(message: string, options?: ErrorOptions) {
    super('final', message, options)
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
