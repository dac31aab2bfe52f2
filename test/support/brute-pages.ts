import type { BucketView } from '../../src/core/bucket-view.ts'
import { BucketOrder, isAskedFor } from '../../src/line/bucket-order.ts'
import { type BucketPage, type BucketQueryInput, bucketQuerySchema } from '../../src/line/bucket-query.ts'

/** Every bucket that a query asks for, in its order: all views filtered and sorted, as plainly as can be. */
export function bruteForce(views: readonly BucketView[], query: BucketQueryInput): BucketView[] {
  const asked = bucketQuerySchema.parse(query)
  const order = new BucketOrder(asked.sort)
  const sign = order.isDescending ? -1 : 1
  return views
    .filter((view) => isAskedFor(view, asked))
    .toSorted((a, b) => {
      const [one, other] = [order.valueOf(a), order.valueOf(b)]
      return sign * byteOrder(one, other) || byteOrder(a.key, b.key)
    })
}

/** Reads page after page; `between` happens before each but the first. */
export async function everyPage(
  read: (query: BucketQueryInput) => Promise<BucketPage>,
  query: BucketQueryInput,
  between: () => Promise<unknown> = async () => undefined,
): Promise<{ readonly views: BucketView[]; readonly pages: BucketPage[] }> {
  const pages = [await read(query)]
  for (let cursor = pages[0]!.cursor; cursor !== undefined; cursor = pages.at(-1)!.cursor) {
    if (pages.length > 10_000) throw new Error('the pages never end')
    await between()
    pages.push(await read({ ...query, cursor }))
  }
  return { pages, views: pages.flatMap(({ buckets }) => buckets) }
}

function byteOrder(a: string | number, b: string | number): number {
  if (typeof a === 'string' || typeof b === 'string') {
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  }
  return a < b ? -1 : a > b ? 1 : 0
}
