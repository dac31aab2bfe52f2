import { describe } from './describe.ts'
import { VelvetRopeError } from './errors.ts'

/** A handler threw something that is not an Error; `thrown` is that value. */
export class NotAnErrorError extends VelvetRopeError {
  readonly thrown: unknown

  constructor(thrown: unknown) {
    super('not-an-error', `the handler threw ${describe(thrown)}, expected an Error`)
    this.thrown = thrown
  }
}

/** Returns what was thrown as an Error. */
export function toError(thrown: unknown): Error {
  try {
    return thrown instanceof Error ? thrown : new NotAnErrorError(thrown)
  } catch {
    // A proxy can throw even from `instanceof`.
    return new NotAnErrorError('a value that cannot be inspected')
  }
}

/** The message of a foreign error; its getter may throw. */
export function messageOf(error: Error): string {
  try {
    return String(error.message)
  } catch {
    return 'an error whose message cannot be read'
  }
}
