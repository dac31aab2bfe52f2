import type { z } from 'zod'
import { describe, InvalidOptionsError, quote } from './errors.ts'

/**
 * Checks options once, where they enter, and freezes them.
 *
 * @param what names the call in the message: `enqueue`, `new Shaper`
 * @throws InvalidOptionsError naming the field, what was expected and what came; unknown fields get a suggestion
 */
export function parseOptions<Schema extends z.ZodObject>(
  schema: Schema,
  input: unknown,
  what: string,
): Readonly<z.output<Schema>> {
  const result = schema.safeParse(input)
  if (result.success) return Object.freeze(result.data)
  const known = Object.keys(schema.shape)
  const [issue] = result.error.issues
  throw new InvalidOptionsError(`${what}: ${explain(issue!, input, known)}`)
}

/** The known word that a mistyped one most likely meant, if any is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(2, best.candidate.length / 3)
    ? best.candidate
    : undefined
}

function explain(issue: z.core.$ZodIssue, input: unknown, known: readonly string[]): string {
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0]!
    const suggestion = issue.path.length === 0 ? nearest(key, known) : undefined
    const hint = suggestion === undefined ? `known are ${known.join(', ')}` : `did you mean ${suggestion}?`
    return `unknown option ${quote(key)}: ${issue.path.length === 0 ? hint : `in ${issue.path.join('.')}`}`
  }
  const came = issue.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key],
    input,
  )
  const field = issue.path.length === 0 ? 'the options' : issue.path.join('.')
  return `expected ${field} to be valid (${issue.message}), got: ${describe(came)}`
}

/** Levenshtein's distance; words here are short, so one row at a time is plenty. */
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
