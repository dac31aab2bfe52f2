import { createHash } from 'node:crypto'
import type { Principal } from './access.ts'
import { Problem } from './problem.ts'

/** An id that was made of an `Idempotency-Key`; nobody may choose one. */
const DERIVED = /^ik-[A-Za-z0-9_-]{43}$/

/**
 * The value of an `Idempotency-Key` header: bare, or quoted as the draft of the IETF asks, 1 to 255 characters of
 * printable ASCII.
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
 * The id of a job: made of the `Idempotency-Key` and its holder, so that nobody meets the jobs of others by using the
 * same key; for a batch of the place in it as well. An id in the body goes with a header only if both say the same,
 * and is then used as it is.
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
    throw refused('ids that begin with ik- are made by the service', pointer)
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
