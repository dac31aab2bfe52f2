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
  const fault = faultOf(data, 0)
  if (fault !== undefined) throw notJson(fault)
  return JSON.stringify(data)
}

/** A value that JSON would lose or change, and the steps to it, the innermost first. */
interface Fault {
  readonly value: unknown
  readonly steps: (string | number)[]
}

function faultOf(value: unknown, depth: number): Fault | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { value, steps: [] }
  if (typeof value !== 'object') return { value, steps: [] }
  if (depth >= DEEPEST) {
    throw new InvalidDataError(
      `expected JSON data of at most ${DEEPEST} levels, got a deeper or circular one`,
    )
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') return { value, steps: [] }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const fault = faultOf(value[index], depth + 1)
      if (fault !== undefined) return behind(index, fault)
    }
    return undefined
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return { value, steps: [] }
  for (const step of Object.keys(value)) {
    const inner = (value as Readonly<Record<string, unknown>>)[step]
    const fault = inner === undefined ? undefined : faultOf(inner, depth + 1)
    if (fault !== undefined) return behind(step, fault)
  }
  return undefined
}

function behind(step: string | number, fault: Fault): Fault {
  fault.steps.push(step)
  return fault
}

function notJson({ value, steps }: Fault): InvalidDataError {
  const name = typeof value === 'object' && value !== null ? className(value) : describe(value)
  return new InvalidDataError(`expected JSON data, got ${name} at ${shorten(pathText(steps))}`)
}

function className(value: object): string {
  const name: unknown = value.constructor?.name
  if (typeof name !== 'string' || name === 'Object' || name === 'Array') return 'an object with toJSON'
  return `a ${name}`
}

function pathText(steps: readonly (string | number)[]): string {
  const texts = steps.toReversed().map((step) => `[${typeof step === 'string' ? quote(step) : step}]`)
  return `$${texts.join('')}`
}

/** The names of fields are the caller's text, and there may be 100 of them. */
function shorten(text: string): string {
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH - 3)}...` : text
}
