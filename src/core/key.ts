import { describe, quote } from './describe.ts'
import { InvalidKeyError } from './errors.ts'

/** The longest key or pattern, in bytes of UTF-8. */
export const LONGEST_KEY = 256

const UTF8 = new TextEncoder()
const CONTROL = /\p{Control}/u
// With the u flag this matches only a surrogate that stands alone.
const LONE_SURROGATE = /\p{Surrogate}/u
/** URLs resolve such segments, percent-encoded ones too, so the bucket could not be addressed over HTTP. */
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:\/|$)/

/**
 * Checks a key: text of 1 to 256 bytes without control characters, split into segments by `/`, none of them `.` or
 * `..`.
 *
 * @throws InvalidKeyError
 */
export function checkKey(key: unknown, what = 'key'): asserts key is string {
  if (typeof key !== 'string') {
    throw new InvalidKeyError(`expected the ${what} to be a string, got: ${describe(key)}`)
  }
  if (key === '') throw new InvalidKeyError(`expected the ${what} to be 1 to ${LONGEST_KEY} bytes, got: 0`)
  // One UTF-16 unit takes at most three bytes, so most keys need no counting.
  const bytes = key.length * 3 > LONGEST_KEY ? UTF8.encode(key).length : key.length
  if (bytes > LONGEST_KEY) {
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

/** How the keys of a family begin: the name of its total. */
export type TotalPath = `${string}/`

/** Whether a pattern, or what stands for a key, names a total: the limit of the sum of a family. */
export function isTotal(name: string): name is TotalPath {
  return name.endsWith('/')
}

/**
 * Checks the key of a bucket. One that ends in `/` would be the name of a family: a total limits the sum of its keys.
 *
 * @throws InvalidKeyError
 */
export function checkBucketKey(key: unknown): asserts key is string {
  checkKey(key)
  if (!isTotal(key)) return
  throw new InvalidKeyError(
    `expected the key of a single bucket, not of a family, whose name ends in /, got: ${quote(key)}`,
  )
}

/** Whether a key equals `head` or is below it: `a/b` is below `a`, `ab` is not. */
export function isUnder(key: string, head: string): boolean {
  return key.startsWith(head) && (key.length === head.length || key[head.length] === '/')
}

/** The part of a key before the first `/`: all of it, where there is none. */
export function firstSegment(key: string): string {
  const end = key.indexOf('/')
  return end === -1 ? key : key.slice(0, end)
}
