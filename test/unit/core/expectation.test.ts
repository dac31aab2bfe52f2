import { expect, test } from 'vitest'
import { z } from 'zod'
import { expectationOf } from '../../../src/core/expectation.ts'

test.each([
  [z.string(), 5, 'a string'],
  [z.int(), 1.5, 'a whole number'],
  [z.number(), 'x', 'a number'],
  [z.boolean(), 1, 'true or false'],
  [z.array(z.number()), 'x', 'a list'],
  [z.object({}), [], 'an object'],
  [z.record(z.string(), z.number()), [], 'an object'],
  [z.date(), 1, 'date'],
  [z.enum(['fixed', 'exponential']), 'x', "'fixed' or 'exponential'"],
  [z.literal(true), 1, 'true'],
  [z.number().min(1), 0, 'a number, at least 1'],
  [z.number().gt(0), 0, 'a number, more than 0'],
  [z.number().max(9), 10, 'a number, at most 9'],
  [z.number().lt(9), 9, 'a number, less than 9'],
  [z.string().min(3), 'ab', 'a string of at least 3 characters'],
  [z.array(z.number()).max(1), [1, 2], 'a list of at most 1'],
  [z.string().startsWith('a'), 'b', 'must start with "a"'],
  [z.string('a word'), 5, 'a word'],
  [z.string('expected a word, such as a'), 5, 'a word, such as a'],
])('%#: what a schema expected is said in plain English', (schema, value, expected) => {
  const [issue] = schema.safeParse(value).error!.issues
  expect(expectationOf(issue!)).toBe(expected)
})
