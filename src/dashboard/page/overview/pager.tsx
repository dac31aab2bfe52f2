import type { BucketPage } from '../../../line/bucket-query.ts'
import { formatCount, formatTotal } from '../data/format.ts'
import type { TableQuery } from '../data/page-url.ts'
import { Icon } from '../parts/icon.tsx'
import { Link } from '../parts/link.tsx'

interface PagerProps {
  readonly query: TableQuery
  readonly page: BucketPage
}

/** Links to the next and the first page; the browser goes back. */
export function Pager({ query, page }: PagerProps) {
  const { buckets, total, isAtLeast, cursor } = page
  const { cursor: here, ...first } = query
  if (cursor === undefined && here === undefined) return null
  return (
    <nav class="pager" aria-label="Pages of buckets">
      <span>
        {formatCount(buckets.length)} of {formatTotal(total, isAtLeast)}
      </span>
      {here !== undefined && (
        <Link to={{ name: 'overview', query: first }} class="button is-small">
          First page
        </Link>
      )}
      {cursor !== undefined && (
        <Link to={{ name: 'overview', query: { ...first, cursor } }} class="button is-small">
          Next page <Icon name="next" />
        </Link>
      )}
    </nav>
  )
}
