import { createHash } from 'node:crypto'
import type { Principal } from './access.ts'
import { Problem } from './problem.ts'

/** An id derived from an `Idempotency-Key`; clients must not choose such ids. */
const DERIVED = /^ik-[A-Za-z0-9_-]{43}$/

/**
 * Reads an `Idempotency-Key` header: bare, or quoted as the IETF draft specifies, 1 to 255 characters of printable
 * ASCII.
 *
 * @throws Problem 400
 */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header) ?? []
  const key = quoted?.replace(/\\(["\\])/g, '$1') ?? header
  if (/^[ -~]{1,255}$/.test(key) && (quoted !== undefined || !header.startsWith('"'))) return key
  throw new Problem('bad-request', {
    detail: 'expected Idempotency-Key to be 1 to 255 characters of printable ASCII, bare or in quotes',
  })
}

/**
 * The id of a job. It is derived from the `Idempotency-Key` and the holder's name, so that equal keys of different
 * holders do not collide, and in a batch also from the index. An id in the body is allowed beside the header only if
 * both are equal, and is then used as it is.
 *
 * @throws Problem 422
 */
export function jobId(
  { name }: Principal,
  idempotencyKey: string | undefined,
  id: string | undefined,
  index?: number,
): string | undefined {
  const pointer = index === undefined ? '#/id' : `#/jobs/${index}/id`
  if (id !== undefined && DERIVED.test(id)) {
    throw refused('ids that begin with ik- are reserved for the service', pointer)
  }
  if (idempotencyKey === undefined) return id
  if (id !== undefined) {
    if (id === idempotencyKey) return id
    throw refused('expected either an id or an Idempotency-Key, or the same text in both', pointer)
  }
  const digest = createHash('sha256').update(JSON.stringify([name, idempotencyKey, index ?? null]))
  return `ik-${digest.digest('base64url')}`
}

function refused(detail: string, pointer: string): Problem {
  return new Problem('invalid', { detail, errors: [{ detail, pointer }] })
}
