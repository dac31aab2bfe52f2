import type { BucketView, QuotaView } from '../../../core/bucket-view.ts'

/** A quota or the places of a bucket, as a bar shows it. */
export interface PartUse {
  /** Such as `2000/day` or `50 at once`. */
  readonly name: string
  readonly used: number
  readonly of: number
  /** Nothing more can start now: the part is used up, or has too little left for the next job. */
  readonly isOut: boolean
}

export type BucketParts = Pick<BucketView, 'quotas' | 'places' | 'heldBy'>

/** The parts of a bucket's limit besides its pace, quotas first; none for most buckets. */
export function partsOf(bucket: BucketParts): readonly PartUse[] {
  const { quotas = [], places } = bucket
  const counted = quotas.map((quota) => quotaUse(bucket, quota))
  return places === undefined ? counted : [...counted, placesUse(places)]
}

export function quotaUse(bucket: BucketParts, part: QuotaView): PartUse {
  const { quota, used, amount, roomAt = roomOfNextAt(bucket, part) } = part
  return { name: quota, used, of: amount, isOut: roomAt !== undefined }
}

export function placesUse({ taken, of }: NonNullable<BucketView['places']>): PartUse {
  return { name: `${of} at once`, used: taken, of, isOut: taken >= of }
}

/** When the next job has room in the quota, if that holds it for longer than it would hold a job of cost 1. */
export function roomOfNextAt(
  { heldBy }: Pick<BucketView, 'heldBy'>,
  { quota, roomAt = 0 }: QuotaView,
): number | undefined {
  if (heldBy?.quota !== quota || heldBy.until === undefined) return undefined
  return heldBy.until > roomAt ? heldBy.until : undefined
}

/** The share in use, 0 to 1; more than everything is drawn as everything. */
export function shareOf({ used, of }: PartUse): number {
  return Math.min(1, used / of)
}

/** How a bar is coloured. */
export function levelOf(part: PartUse): 'is-full' | 'is-high' | '' {
  if (part.isOut) return 'is-full'
  return shareOf(part) >= 0.8 ? 'is-high' : ''
}
