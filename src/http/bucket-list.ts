import { quote } from '../core/describe.ts'
import type { BucketPage, BucketQuery } from '../line/bucket-query.ts'
import type { FamilyPage, FamilyQuery } from '../line/family-query.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Principal } from './access.ts'
import { Problem } from './problem.ts'
import { isWithin } from './rights.ts'

/**
 * Lists the live buckets that a principal may see. A principal with prefixes must name one of them or something below;
 * with a single prefix that one is the default.
 *
 * @throws Problem 403
 */
export async function listBuckets(
  shaper: Shaper,
  { prefixes }: Pick<Principal, 'prefixes'>,
  query: BucketQuery,
): Promise<BucketPage> {
  if (prefixes.length === 0) return shaper.buckets(query)
  const { prefix, under } = query
  if (under !== undefined) {
    if (isWithin(prefixes, under)) return shaper.buckets(query)
    throw forbidden('under', under, prefixes)
  }
  const [only] = prefixes.length === 1 ? prefixes : []
  // As text the prefix `tenant-a` would also match `tenant-ab`.
  const head = prefix === '' ? only : prefixes.find((allowed) => allowed === prefix)
  if (head !== undefined) return shaper.buckets({ ...query, prefix: '', under: head })
  if (prefixes.some((allowed) => prefix.startsWith(`${allowed}/`))) return shaper.buckets(query)
  throw forbidden('prefix', prefix, prefixes)
}

/** The same for totals: a principal with prefixes sees those of one of them. @throws Problem 403 */
export async function listFamilies(
  shaper: Shaper,
  { prefixes }: Pick<Principal, 'prefixes'>,
  query: FamilyQuery,
): Promise<FamilyPage> {
  const under = query.under ?? (prefixes.length === 1 ? prefixes[0] : undefined)
  if (under === undefined && prefixes.length > 0) throw forbidden('under', '', prefixes)
  if (under !== undefined && !isWithin(prefixes, under)) throw forbidden('under', under, prefixes)
  return shaper.families({ ...query, ...(under !== undefined && { under }) })
}

function forbidden(what: string, got: string, prefixes: readonly string[]): Problem {
  return new Problem('forbidden', {
    detail: `expected ${what} to begin with ${prefixes.map(quote).join(' or ')}, got: ${quote(got)}`,
  })
}
