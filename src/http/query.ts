import type { z } from 'zod'
import { parseOptions } from '../core/options.ts'
import { invalid } from './problem.ts'

const NUMBER = /^-?\d{1,20}(?:\.\d{1,20})?$/
const LONGEST = 2_000

/**
 * Reads and validates the query of a URL. `numbers` names the fields that are numbers. Each field may be given once.
 *
 * @throws Problem 422, or InvalidOptionsError
 */
export function readQuery<Schema extends z.ZodObject>(
  url: string,
  schema: Schema,
  numbers: readonly string[],
): Readonly<z.output<Schema>> {
  const given = new Map<string, string | number>()
  for (const [name, value] of new URL(url).searchParams) {
    if (given.has(name)) throw invalid([{ detail: `expected ${JSON.stringify(name)} once in the query` }])
    if (value.length > LONGEST) throw invalid([{ detail: `expected at most ${LONGEST} characters a field` }])
    given.set(name, numbers.includes(name) && NUMBER.test(value) ? Number(value) : value)
  }
  return parseOptions(schema, Object.fromEntries(given), 'query')
}
