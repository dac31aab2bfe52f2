import type { z } from 'zod'
import { quote } from '../core/describe.ts'
import { expectationOf } from '../core/expectation.ts'
import { isOfAnotherType, nameKnownFields, nearest, nearestForm, placeOf } from '../core/options.ts'
import { type Fault, pointerStep } from './problem.ts'

const DEEPEST = 32
/** Faults in one answer. */
export const MOST_FAULTS = 20
/** Characters of a name in a pointer; a pointer to a longer name ends with its beginning. */
const LONGEST_STEP = 256

/**
 * Returns what a schema cannot check: depth, numbers beyond a double, and a name that could change the prototype of a
 * copy. At most 20 faults.
 */
export function faultsOfValue(value: unknown): Fault[] {
  const faults: Fault[] = []
  // Pointers are only built for faults: a body may have many values.
  const path: string[] = []
  const complain = (detail: string) => void faults.push({ detail, pointer: pointerOf(path) })
  const visit = (inner: unknown) => {
    if (faults.length >= MOST_FAULTS) return
    if (typeof inner === 'number') {
      if (!Number.isFinite(inner)) complain('expected a number that a double can hold')
      return
    }
    if (typeof inner !== 'object' || inner === null) return
    if (path.length >= DEEPEST) {
      complain(`expected at most ${DEEPEST} levels`)
      return
    }
    // `Object.entries` would build a pair for each.
    for (const name in inner) visitIn(name, (inner as Record<string, unknown>)[name])
  }
  const visitIn = (step: string, inner: unknown) => {
    path.push(step)
    if (step === '__proto__') complain('expected no field __proto__')
    else visit(inner)
    path.pop()
  }
  visit(value)
  return faults
}

/** A valid value, or what is wrong with it. */
type Checked<Data> =
  | { readonly data: Data; readonly faults?: undefined }
  | { readonly data?: undefined; readonly faults: Fault[] }

/**
 * Validates a value of a body; returns at most 20 faults.
 *
 * @param path where the value is in the body
 */
export function check<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  path: readonly PropertyKey[] = [],
): Checked<z.output<Schema>> {
  const result = schema.safeParse(value, { error: nameKnownFields })
  return result.success
    ? { data: result.data }
    : { faults: faultsOfIssues(result.error.issues, schema, path) }
}

function faultsOfIssues(
  issues: readonly z.core.$ZodIssue[],
  schema: z.ZodType,
  path: readonly PropertyKey[],
): Fault[] {
  const faults: Fault[] = []
  for (const issue of issues) {
    faults.push(...faultsOf({ ...issue, path: [...path, ...issue.path] }, schema))
    if (faults.length >= MOST_FAULTS) break
  }
  return faults.slice(0, MOST_FAULTS)
}

function faultsOf(issue: z.core.$ZodIssue, schema: z.ZodType): Fault[] {
  if (issue.code === 'invalid_union') {
    const fitting = nearestForm(issue.errors)
    // A union with its own message takes precedence over the messages of its forms.
    if (isOfAnotherType(fitting) && issue.message.startsWith('expected ')) {
      return [{ detail: issue.message, pointer: pointerOf(issue.path) }]
    }
    return faultsOfIssues(fitting, schema, issue.path)
  }
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(' ')
    return issue.keys.slice(0, MOST_FAULTS).map((name) => ({
      detail: `unknown field ${quote(name)}: ${hintFor(name, known, schema)}`,
      pointer: pointerOf([...issue.path, name]),
    }))
  }
  return [{ detail: detailOf(issue), pointer: pointerOf(issue.path) }]
}

function pointerOf(path: readonly PropertyKey[]): string {
  return ['#', ...path.map((step) => pointerStep(String(step).slice(0, LONGEST_STEP)))].join('/')
}

/** Rewords messages of zod, such as `Invalid input: expected number, received undefined`; those of schemas stay. */
function detailOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_key') return `expected the name to be ${expectationOf(issue.issues[0]!)}`
  const own = expectationOf(issue)
  if (issue.code === 'invalid_format') return `expected ${own}`
  if (issue.message.endsWith(own)) return issue.message
  const [, came] = /, received (\w+)$/.exec(issue.message) ?? []
  return `expected ${own}${came === undefined ? '' : `, got: ${came === 'undefined' ? 'nothing' : came}`}`
}

/** Suggests what an unknown name was most likely meant to be. */
function hintFor(name: string, known: readonly string[], schema: z.ZodType): string {
  const suggestion = nearest(name, known)
  if (suggestion !== undefined) return `did you mean ${suggestion}?`
  const elsewhere = placeOf(name, schema)
  return elsewhere === undefined ? `known are ${known.join(', ')}` : `did you mean ${elsewhere}?`
}
