import type { BucketView, QuotaView } from '../../../core/bucket-view.ts'

/** A quota or the places of a bucket, as a bar shows it. */
export interface PartUse {
  /** Such as `2000/day` or `50 at once`. */
  readonly name: string
  readonly used: number
  readonly of: number
  /** Nothing more can start now: the part is used up, or has too little left for another job. */
  readonly isOut: boolean
}

/** The parts of a bucket's limit besides its pace, quotas first; none for most buckets. */
export function partsOf({ quotas = [], places }: Pick<BucketView, 'quotas' | 'places'>): readonly PartUse[] {
  const counted = quotas.map((quota) => quotaUse(quota))
  return places === undefined ? counted : [...counted, placesUse(places)]
}

export function quotaUse({ quota, used, amount, roomAt }: QuotaView): PartUse {
  return { name: quota, used, of: amount, isOut: roomAt !== undefined }
}

export function placesUse({ taken, of }: NonNullable<BucketView['places']>): PartUse {
  return { name: `${of} at once`, used: taken, of, isOut: taken >= of }
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
