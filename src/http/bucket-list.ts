import { type BucketPage, type BucketQuery, pageOf } from '../backend/bucket-query.ts'
import { quote } from '../core/describe.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Principal } from './access.ts'
import { Problem } from './problem.ts'

/**
 * The live buckets that a principal may see. One with prefixes asks for one of them, or for something below; who has
 * just one need not say it.
 *
 * @throws Problem 403
 */
export function listBuckets(
  shaper: Shaper,
  { prefixes }: Pick<Principal, 'prefixes'>,
  query: BucketQuery,
): Promise<BucketPage> {
  if (prefixes.length === 0) return shaper.buckets(query)
  const [only] = prefixes.length === 1 ? prefixes : []
  const prefix = query.prefix === '' ? (only ?? '') : query.prefix
  if (prefixes.includes(prefix)) return listFamily(shaper, { ...query, prefix })
  if (prefixes.some((allowed) => prefix.startsWith(`${allowed}/`)))
    return shaper.buckets({ ...query, prefix })
  throw new Problem('forbidden', {
    detail: `expected prefix to begin with ${prefixes.map(quote).join(' or ')}, got: ${quote(prefix)}`,
  })
}

/**
 * A key and all below it. As text the prefix `tenant-a` would also match `tenant-ab`, so those below are asked for with
 * the slash, and the key itself is put in its place among them.
 */
async function listFamily(shaper: Shaper, query: BucketQuery): Promise<BucketPage> {
  const { prefix } = query
  const [head, below] = await Promise.all([
    shaper.inspect(prefix),
    shaper.buckets({ ...query, prefix: `${prefix}/` }),
  ])
  if (head === undefined) return below
  const { total: isMatch } = pageOf([head], { ...query, cursor: undefined })
  // The first of all those after the cursor are the first of these.
  const { buckets, cursor = below.cursor } = pageOf([head, ...below.buckets], query)
  return { buckets, total: below.total + isMatch, ...(cursor !== undefined && { cursor }) }
}
