import { firstSegment } from '../core/key.ts'
import type { FindOptions } from '../shaper/options.ts'
import { Problem } from './problem.ts'
import { readQuery } from './query.ts'
import { jobQuerySchema } from './request-schemas.ts'
import { assertWithin, isWithin } from './rights.ts'
import type { Call } from './route.ts'

/**
 * Finds the job of the path. Each first segment of keys has ids of its own: `?key=` says which is meant, and else a token with prefixes
 * means one of its own. A first segment is allowed as `key` though the token is only for a part of it. A job that the token may
 * not see counts as unknown.
 *
 * @param isId whether a text can be an id
 * @throws Problem 403 or 404, InvalidKeyError
 */
export async function findJob<Found extends { readonly key: string }>(
  { context, principal: { prefixes }, subject: id }: Call,
  isId: RegExp,
  ask: (id: string, options: FindOptions) => Promise<Found | undefined>,
): Promise<Found> {
  const { key } = readQuery(context.req.url, jobQuerySchema, [])
  const segments = [...new Set(prefixes.map(firstSegment))]
  if (key !== undefined && !segments.includes(key)) assertWithin({ prefixes }, key)
  const keys = key === undefined ? segments : [key]
  const places: FindOptions[] = keys.length === 0 ? [{}] : keys.map((one) => ({ key: one }))
  for (const place of isId.test(id) ? places : []) {
    const found = await ask(id, place)
    if (found !== undefined && isWithin(prefixes, found.key)) return found
  }
  throw new Problem('not-found', {
    detail:
      'no job has this id; ended jobs are kept for a while only, and where several first segments of keys use ' +
      'one id, ?key= says which is meant',
  })
}
