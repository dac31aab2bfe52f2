import { quote } from './describe.ts'
import { VelvetRopeError } from './errors.ts'

/** The limits of this process are not in force because newer ones are. The newer ones stay. */
export class OldRuleBookError extends VelvetRopeError {
  constructor(message: string) {
    super('old-rule-book', message)
  }
}

/** The rule of the key counts by the calendar of a time zone that another process knows and this one does not. Nothing was changed. */
export class UnknownZoneError extends VelvetRopeError {
  readonly pattern: string
  readonly zone: string

  /**
   * @param version of the rules of time zones that this process has
   * @param others how many further patterns have a limit in that zone
   */
  constructor(pattern: string, zone: string, version: string, others = 0) {
    const more = others === 0 ? '' : ` and of ${others} more ${others === 1 ? 'pattern' : 'patterns'}`
    super(
      'unknown-zone',
      `the limit of ${quote(pattern)}${more} counts by the time zone ${quote(zone)}, which another process knows and this one does not ` +
        `(it has the time zones of ${version}); until it runs on a newer Node.js or the limit is another, it admits nothing under it`,
    )
    this.pattern = pattern
    this.zone = zone
  }
}

/** A conditional change expected another version of the rule book. Nothing was changed. */
export class RuleBookConflictError extends VelvetRopeError {
  /** The version that the change expected. */
  readonly expected: number
  /** The version in force. */
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

/** A rule by hand is one too many, for its author or for the first segment of its pattern. Nothing was changed. */
export class TooManyRulesError extends VelvetRopeError {
  readonly atMost: number

  constructor(message: string, atMost: number) {
    super('too-many-rules', message)
    this.atMost = atMost
  }
}
