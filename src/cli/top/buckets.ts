import type { BucketView } from '../../core/bucket-view.ts'
import type { BucketPage, BucketQueryInput } from '../../line/bucket-query.ts'

/** A shaper or a service, as far as top needs it. */
export interface BucketLister {
  buckets(query?: BucketQueryInput): Promise<BucketPage>
  close(): Promise<void>
}

/** The first buckets of a query. */
export interface TopBuckets {
  readonly buckets: readonly BucketView[]
  /** The number of all buckets, a lower bound with `isAtLeast`. */
  readonly total: number
  readonly isAtLeast?: true | undefined
}

/** The largest page. */
const PAGE = 1_000

/** Reads pages until it has `wanted` buckets, or all. */
export async function readTop(
  lister: BucketLister,
  query: BucketQueryInput,
  wanted: number,
): Promise<TopBuckets> {
  const buckets: BucketView[] = []
  let cursor: string | undefined
  for (;;) {
    const limit = Math.min(PAGE, wanted - buckets.length)
    const page = await lister.buckets({ ...query, limit, cursor })
    buckets.push(...page.buckets)
    cursor = page.cursor
    if (cursor === undefined || buckets.length >= wanted || page.buckets.length === 0) {
      return { buckets, total: page.total, isAtLeast: page.isAtLeast }
    }
  }
}
