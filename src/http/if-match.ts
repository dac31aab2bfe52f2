import type { Context } from 'hono'
import { Problem } from './problem.ts'
import type { HttpEnv, ParameterObject } from './route.ts'

/** The tag of a version of the rule book, for `ETag` and `If-Match` (RFC 9110). */
export function etagOf(version: number): string {
  return `"${version}"`
}

export const IF_MATCH: ParameterObject = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of the rule book that the change is meant for, such as `"7"`; `*`, like none: whichever is in force.',
  schema: { type: 'string', maxLength: 64 },
}

/**
 * The version that a change is meant for; undefined: whichever is in force. A proxy that compresses makes the tag a weak one, which names
 * the same version.
 *
 * @throws Problem 400
 */
export function readIfMatch({ req }: Context<HttpEnv>): number | undefined {
  const header = req.header('If-Match')
  if (header === undefined || header.trim() === '*') return undefined
  const [, digits] = /^\s*(?:W\/)?"(\d{1,15})"\s*$/.exec(header) ?? []
  if (digits !== undefined) return Number(digits)
  throw new Problem('bad-request', {
    detail: 'expected If-Match to be the ETag of the rule book, such as "7", or *',
  })
}
