import type { FamilyView } from '../core/family-view.ts'
import { BucketOrder } from './bucket-order.ts'
import type { SortColumn } from './bucket-query.ts'
import type { FamilyQuery } from './family-query.ts'

/** The order of a query: a path stands where the key of a bucket does. */
export function familyOrder({ sort }: FamilyQuery): BucketOrder {
  const column: SortColumn = sort.endsWith('path') ? 'key' : (sort.replace('-', '') as SortColumn)
  return new BucketOrder(sort.startsWith('-') ? `-${column}` : column)
}

/** What a total is sorted by. */
export function familyValue(
  { column }: BucketOrder,
  family: Pick<FamilyView, 'path' | 'fill' | 'waiting' | 'running'>,
): string | number {
  if (column === 'fill' || column === 'waiting' || column === 'running') return family[column]
  return family.path
}
