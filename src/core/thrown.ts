import { describe } from './describe.ts'
import { VelvetRopeError } from './errors.ts'

/** A handler threw something that is not an Error; `thrown` is what came. */
export class NotAnErrorError extends VelvetRopeError {
  readonly thrown: unknown

  constructor(thrown: unknown) {
    super('not-an-error', `the handler threw ${describe(thrown)}, expected an Error`)
    this.thrown = thrown
  }
}

/** What was thrown, as an Error. */
export function toError(thrown: unknown): Error {
  try {
    return thrown instanceof Error ? thrown : new NotAnErrorError(thrown)
  } catch {
    // A proxy can refuse even to say what it is.
    return new NotAnErrorError('something that cannot be looked at')
  }
}

/** The message of an error that somebody else made, who may have made it so that it cannot be read. */
export function messageOf(error: Error): string {
  try {
    return String(error.message)
  } catch {
    return 'an error whose message cannot be read'
  }
}
