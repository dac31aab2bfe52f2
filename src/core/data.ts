import { describe, quote } from './describe.ts'
import { InvalidDataError } from './errors.ts'

const DEEPEST = 100
const LONGEST_PATH = 300

/**
 * Encodes job data as JSON text if decoding it gives the same data: null, booleans, finite numbers, strings, arrays and
 * plain objects. Properties that are undefined are left out, as in JSON.
 *
 * @throws InvalidDataError with the path of the first value that JSON would lose or change
 */
export function encodeData(data: unknown): string {
  checkValue(data, undefined, 0)
  return JSON.stringify(data)
}

/**
 * The path of a value, from the inside out. Each step links to its parent, so it costs nothing unless an error needs
 * it.
 */
interface Path {
  readonly step: string | number
  readonly parent: Path | undefined
}

function checkValue(value: unknown, path: Path | undefined, depth: number): void {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw notJson(value, path)
    return
  }
  if (typeof value !== 'object') throw notJson(value, path)
  if (depth >= DEEPEST) {
    throw new InvalidDataError(
      `expected JSON data of at most ${DEEPEST} levels, got a deeper or circular one`,
    )
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') throw notJson(value, path)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      checkValue(value[index], { step: index, parent: path }, depth + 1)
    }
    return
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(value, path)
  for (const [step, inner] of Object.entries(value)) {
    if (inner !== undefined) checkValue(inner, { step, parent: path }, depth + 1)
  }
}

function notJson(value: unknown, path: Path | undefined): InvalidDataError {
  const name = typeof value === 'object' && value !== null ? className(value) : describe(value)
  return new InvalidDataError(`expected JSON data, got ${name} at ${shorten(pathText(path))}`)
}

function className(value: object): string {
  const name: unknown = value.constructor?.name
  if (typeof name !== 'string' || name === 'Object' || name === 'Array') return 'an object with toJSON'
  return `a ${name}`
}

function pathText(path: Path | undefined): string {
  if (path === undefined) return '$'
  const { step, parent } = path
  return `${pathText(parent)}[${typeof step === 'string' ? quote(step) : step}]`
}

/** The names of fields are the caller's text, and there may be 100 of them. */
function shorten(text: string): string {
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH - 3)}...` : text
}
