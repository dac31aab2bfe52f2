import type { BucketView } from '../../../core/bucket-view.ts'

/** A row of the table; `isGone` when its bucket has left the page while the order of the rows is held. */
export interface Row {
  readonly bucket: BucketView
  readonly isGone: boolean
}

/**
 * The rows to show next. Unchanged buckets keep their row object and are not rendered again. While the order is held,
 * rows keep their places and only their contents change.
 */
export function nextRows(
  shown: readonly Row[],
  latest: readonly BucketView[],
  isHeld: boolean,
): readonly Row[] {
  const before = new Map(shown.map((row) => [row.bucket.key, row]))
  if (!isHeld) {
    const rows = latest.map((bucket) => rowOf(before.get(bucket.key), bucket))
    return isSame(shown, rows) ? shown : rows
  }
  const news = new Map(latest.map((bucket) => [bucket.key, bucket]))
  const rows = shown.map((row) => {
    const bucket = news.get(row.bucket.key)
    if (bucket !== undefined) return rowOf(row, bucket)
    return row.isGone ? row : { ...row, isGone: true }
  })
  return isSame(shown, rows) ? shown : rows
}

function rowOf(before: Row | undefined, bucket: BucketView): Row {
  return before !== undefined && !before.isGone && isEqual(before.bucket, bucket)
    ? before
    : { bucket, isGone: false }
}

function isSame(some: readonly Row[], others: readonly Row[]): boolean {
  return some.length === others.length && some.every((row, index) => row === others[index])
}

/** Ignores the oldest wait, which is counted from `waitingSince`. */
function isEqual(one: BucketView, other: BucketView): boolean {
  const fields = Object.keys({ ...one, ...other }) as (keyof BucketView)[]
  return fields.every((field) => field === 'oldestWaitMs' || isSameValue(one[field], other[field]))
}

/** Quotas and places are new objects in every answer. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true
  return typeof one === 'object' && typeof other === 'object' && JSON.stringify(one) === JSON.stringify(other)
}
