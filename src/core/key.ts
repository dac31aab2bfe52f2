import { describe, quote } from './describe.ts'
import { InvalidKeyError } from './errors.ts'

/** Longest key and pattern, in bytes of UTF-8. */
export const LONGEST_KEY = 256

const CONTROL = /\p{Control}/u
// With the u flag a surrogate matches only where it stands alone.
const LONE_SURROGATE = /\p{Surrogate}/u
/** A URL takes such a segment for the way to another, however it is written, so the bucket could never be addressed. */
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:\/|$)/

/**
 * A key is data: text of 1 to 256 bytes without control characters, split into segments by `/`, none of
 * them `.` or `..`.
 *
 * @throws InvalidKeyError
 */
export function checkKey(key: unknown, what = 'key'): asserts key is string {
  if (typeof key !== 'string') {
    throw new InvalidKeyError(`expected the ${what} to be a string, got: ${describe(key)}`)
  }
  if (key === '') throw new InvalidKeyError(`expected the ${what} to be 1 to ${LONGEST_KEY} bytes, got: 0`)
  // Three bytes are the most that one UTF-16 unit takes, so most keys need no counting.
  if (key.length * 3 > LONGEST_KEY && Buffer.byteLength(key) > LONGEST_KEY) {
    const bytes = Buffer.byteLength(key)
    throw new InvalidKeyError(
      `expected the ${what} to be 1 to ${LONGEST_KEY} bytes, got: ${bytes} in ${quote(key)}`,
    )
  }
  if (CONTROL.test(key)) {
    throw new InvalidKeyError(`expected the ${what} to hold no control characters, got: ${quote(key)}`)
  }
  if (LONE_SURROGATE.test(key)) {
    throw new InvalidKeyError(`expected the ${what} to be well-formed Unicode, got: ${quote(key)}`)
  }
  if (key.includes('.') && DOT_SEGMENT.test(key)) {
    throw new InvalidKeyError(
      `expected the ${what} to have no segment . or .., which no URL can name, got: ${quote(key)}`,
    )
  }
  if (key.includes('__proto__') && key.split('/').includes('__proto__')) {
    throw new InvalidKeyError(`expected the ${what} to have no segment __proto__, got: ${quote(key)}`)
  }
}

/** Whether a key is `head`, or stands below it: `a/b` is below `a`, `ab` is not. */
export function isUnder(key: string, head: string): boolean {
  return key.startsWith(head) && (key.length === head.length || key[head.length] === '/')
}
