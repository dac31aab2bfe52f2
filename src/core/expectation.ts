import type { z } from 'zod'

/** zod's own messages begin like this; others are written for users. */
const ZOD_MESSAGE = /^(?:Invalid (?:input|option|string)|Too (?:small|big)): /

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/** Says in plain English what a schema expected: what it says itself, or else what zod found. */
export function expectationOf(issue: z.core.$ZodIssue): string {
  if (!ZOD_MESSAGE.test(issue.message)) return issue.message.replace(/^expected /, '')
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected
    case 'invalid_value':
      return issue.values
        .map((value) => (typeof value === 'string' ? `'${value}'` : String(value)))
        .join(' or ')
    case 'too_small':
      return bounded(issue, `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`)
    case 'too_big':
      return bounded(issue, `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`)
    default:
      return issue.message.replace(ZOD_MESSAGE, '')
  }
}

function bounded({ origin }: { readonly origin: string }, bound: string): string {
  if (origin === 'string') return `a string of ${bound} characters`
  if (origin === 'array') return `a list of ${bound}`
  return `a number, ${bound}`
}
