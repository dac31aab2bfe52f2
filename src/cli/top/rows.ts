import type { BucketView } from '../../core/bucket-view.ts'
import type { FamilyView } from '../../core/family-view.ts'
import type { BucketPage, BucketQueryInput } from '../../line/bucket-query.ts'
import type { FamilyPage, FamilyQueryInput } from '../../line/family-query.ts'
import { familiesOf, queryOf, type TopState } from './state.ts'

/** A shaper or a service, as far as top needs it. */
export interface TopLister {
  buckets(query?: BucketQueryInput): Promise<BucketPage>
  families(query?: FamilyQueryInput): Promise<FamilyPage>
  close(): Promise<void>
}

/** A row of top: a bucket, or a total with its path for a key. */
export interface TopRow
  extends Pick<
    BucketView,
    | 'key'
    | 'state'
    | 'waiting'
    | 'capacity'
    | 'fill'
    | 'running'
    | 'limit'
    | 'oldestWaitMs'
    | 'nextDepartureAt'
    | 'waitingSince'
    | 'quotas'
    | 'places'
    | 'heldBy'
  > {
  /** Only of a total. */
  readonly children?: number
}

/** The first rows of a query. */
export interface TopRows {
  /** Of totals, and not of buckets. */
  readonly isFamilies?: boolean
  readonly rows: readonly TopRow[]
  /** The number of all rows, a lower bound with `isAtLeast`. */
  readonly total: number
  readonly isAtLeast?: true | undefined
}

/** A page of either. */
interface Page {
  readonly rows: readonly TopRow[]
  readonly total: number
  readonly isAtLeast?: true | undefined
  readonly cursor?: string | undefined
}

/** The largest page. */
const PAGE = 1_000

/** Reads pages until it has `wanted` rows, or all. */
export async function readTop(lister: TopLister, state: TopState, wanted: number): Promise<TopRows> {
  const rows: TopRow[] = []
  let cursor: string | undefined
  for (;;) {
    const part = { limit: Math.min(PAGE, wanted - rows.length), cursor }
    const page: Page = await (state.isFamilies
      ? familyPage(lister, { ...familiesOf(state), ...part })
      : bucketPage(lister, { ...queryOf(state), ...part }))
    rows.push(...page.rows)
    cursor = page.cursor
    if (cursor === undefined || rows.length >= wanted || page.rows.length === 0) {
      return { isFamilies: state.isFamilies, rows, total: page.total, isAtLeast: page.isAtLeast }
    }
  }
}

async function bucketPage(lister: TopLister, query: BucketQueryInput): Promise<Page> {
  const { buckets, ...page } = await lister.buckets(query)
  return { ...page, rows: buckets }
}

async function familyPage(lister: TopLister, query: FamilyQueryInput): Promise<Page> {
  const { families, ...page } = await lister.families(query)
  return { ...page, rows: families.map(rowOf) }
}

/** How long the oldest job below a total has waited is not known. */
function rowOf(family: FamilyView): TopRow {
  return { ...family, key: family.path, oldestWaitMs: 0 }
}
