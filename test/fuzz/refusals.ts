import { isVelvetRopeError, type VelvetRopeError } from '../../src/core/errors.ts'

/** What a call returned, or the error of this package that it threw. */
export type Outcome<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'refused'; readonly error: VelvetRopeError }

export const LONGEST_MESSAGE = 1_300

/** @throws what the call threw, unless it is an error of this package with one of these codes and a message of one line */
export function outcomeOf<Value>(call: () => Value, ...codes: readonly string[]): Outcome<Value> {
  try {
    return { kind: 'value', value: call() }
  } catch (error) {
    return { kind: 'refused', error: checkRefusal(error, codes) }
  }
}

/** The same for a promise, or for a call that throws before it returns one. */
export async function settled<Value>(
  call: () => Promise<Value>,
  ...codes: readonly string[]
): Promise<Outcome<Value>> {
  try {
    return { kind: 'value', value: await call() }
  } catch (error) {
    return { kind: 'refused', error: checkRefusal(error, codes) }
  }
}

/** What was expected and what came; or the name that is not known; or what a text that has two meanings may mean. */
const SAYS_WHAT =
  /expected .+ got|needs? .+ got|unknown (?:option|field) ".+known are|unknown (?:option|field) ".+did you mean|may mean|under 1 ms/

function checkRefusal(error: unknown, codes: readonly string[]): VelvetRopeError {
  if (!isVelvetRopeError(error)) throw error
  if (codes.length > 0 && !codes.includes(error.code)) throw error
  if (/\p{Control}/u.test(error.message))
    throw new Error(`a message of several lines: ${JSON.stringify(error.message)}`)
  if (error.message.length > LONGEST_MESSAGE)
    throw new Error(`a message of ${error.message.length} characters: ${error.message.slice(0, 200)}`)
  if (error.code.startsWith('invalid-') && !SAYS_WHAT.test(error.message))
    throw new Error(`a message that does not say what was expected and what came: ${error.message}`)
  return error
}
