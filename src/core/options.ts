import { ZodObject, z } from 'zod'
import { describe, quote } from './describe.ts'
import { InvalidOptionsError } from './errors.ts'
import { expectationOf } from './expectation.ts'

/**
 * Validates options at the public boundary and freezes them.
 *
 * @param what the call, for the message: `enqueue`, `new Shaper`
 * @throws InvalidOptionsError with the field, what was expected and what came; unknown fields get a suggestion
 */
export function parseOptions<Schema extends z.ZodObject>(
  schema: Schema,
  input: unknown,
  what: string,
): Readonly<z.output<Schema>> {
  const result = schema.safeParse(input)
  if (result.success) return Object.freeze(result.data)
  const [issue] = result.error.issues
  throw new InvalidOptionsError(`${what}: ${explain(issue!, input, schema)}`)
}

/**
 * A record as `z.record` reads it, of at most so many names. `z.record` skips a field `__proto__` in silence, so that what a caller
 * wrote would not count; here it is an invalid name like others.
 */
export function recordOf<Output, Input>(
  name: z.ZodType<string, string>,
  value: z.ZodType<Output, Input>,
  error?: string,
  { most = Number.POSITIVE_INFINITY, what = 'fields' } = {},
): z.ZodType<Record<string, Output>, Record<string, Input>> {
  const given = z.custom<Record<string, Input>>().superRefine((fields, context) => {
    if (typeof fields !== 'object' || fields === null) return
    const count = Object.keys(fields).length
    // To read each of a hundred thousand names takes seconds.
    if (count > most) return context.addIssue(`expected an object with at most ${most} ${what}, not ${count}`)
    if (!Object.hasOwn(fields, PROTO)) return
    const message = 'another name'
    const issues = [{ code: 'custom' as const, path: [], message }]
    context.addIssue({ code: 'invalid_key', origin: 'record', path: [PROTO], issues, message, input: fields })
  })
  const record: z.ZodType = z.record(name, value, error)
  return given.pipe(record as z.ZodType<Record<string, Output>, Record<string, Input>>)
}

const PROTO = '__proto__'

/** Returns the known word closest to a mistyped one, if any is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // A word this long is no typo, and the distance would take long.
  if (word.length > 64) return undefined
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(2, best.candidate.length / 3)
    ? best.candidate
    : undefined
}

function explain(issue: z.core.$ZodIssue, input: unknown, schema: z.core.$ZodType): string {
  if (issue.code === 'invalid_union') return explain(nearestIssue(issue), input, schema)
  // A symbol does not join.
  const steps = issue.path.map(String)
  const field = steps.join('.')
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0]!
    const known = fieldsAt(schema, issue.path)
    const suggestion = nearest(key, known)
    const where = field === '' ? '' : ` in ${field}`
    const hint =
      suggestion === undefined ? `known are ${known.join(', ') || 'none'}` : `did you mean ${suggestion}?`
    return `unknown option ${quote(key)}${where}: ${hint}`
  }
  if (issue.code === 'invalid_key') {
    const within = steps.slice(0, -1).join('.')
    return `expected each name in ${within} to be ${expectationOf(issue.issues[0]!)}, got: ${describe(issue.path.at(-1))}`
  }
  const came = issue.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key],
    input,
  )
  return `expected ${field === '' ? 'the options' : field} to be ${expectationOf(issue)}, got: ${describe(came)}`
}

/** The issue of the union member that the value fits best: the one whose error lies deepest. */
export function nearestIssue(union: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue {
  const best = nearestForm(union.errors)[0]!
  return { ...best, path: [...union.path, ...best.path] }
}

/** The names of the fields of the object at `path`; none if the schema has no single object there. */
function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema
  for (const key of path) at = shapeOf(at)?.[String(key)]
  return Object.keys(shapeOf(at) ?? {})
}

/** Where a schema has a field of this name below its top level, as `limit.capacity`; undefined if nowhere. */
export function placeOf(name: string, schema: z.core.$ZodType): string | undefined {
  for (const [field, inner] of Object.entries(shapeOf(schema) ?? {})) {
    const shape = shapeOf(inner)
    if (shape !== undefined && Object.hasOwn(shape, name)) return `${field}.${name}`
  }
  return undefined
}

/** Unwraps defaults, optionals, transforms, lists and unions to find the object within. */
function shapeOf(schema: unknown): Record<string, unknown> | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  if ('shape' in schema) return schema.shape as Record<string, unknown>
  const { def } = schema as {
    def?: { innerType?: unknown; in?: unknown; element?: unknown; options?: unknown[] }
  }
  for (const inner of [def?.innerType, def?.in, def?.element, ...(def?.options ?? [])]) {
    const shape = shapeOf(inner)
    if (shape !== undefined) return shape
  }
  return undefined
}

/** Levenshtein distance; words are short, so computing it row by row is fast enough. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

/**
 * The issues of the union member that a value fits best: the one whose error lies deepest. A member of another type, a
 * string for an object, say, fits worst.
 */
export function nearestForm(forms: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const depthOf = (issues: readonly z.core.$ZodIssue[]) =>
    isOfAnotherType(issues) ? -1 : Math.max(0, ...issues.map(({ path }) => path.length))
  return [...forms].sort((one, other) => depthOf(other) - depthOf(one))[0]!
}

/** Whether a value is of another type than the member, or not the literal that it requires. */
export function isOfAnotherType(issues: readonly z.core.$ZodIssue[]): boolean {
  return issues.some(
    ({ code, path }) => (code === 'invalid_type' || code === 'invalid_value') && path.length === 0,
  )
}

/**
 * An error map for `safeParse`: the message for an unknown field lists the known ones, which only the schema there
 * knows.
 */
export const nameKnownFields: z.core.$ZodErrorMap = (issue) =>
  issue.code === 'unrecognized_keys' && issue.inst instanceof ZodObject
    ? Object.keys(issue.inst.shape).join(' ')
    : undefined
