import type { BucketView } from '../../../core/bucket-view.ts'
import { serverClock } from '../clock.ts'
import { formatClock, formatCount } from '../data/format.ts'
import { Counting } from '../parts/counting.tsx'
import { Icon } from '../parts/icon.tsx'

interface BannersProps {
  readonly bucket: Pick<BucketView, 'paused' | 'frozenUntil' | 'waiting' | 'capacity'>
  readonly what?: 'bucket' | 'family'
}

/** What stops departures, or new jobs. */
export function Banners({ bucket, what = 'bucket' }: BannersProps) {
  const { paused, frozenUntil, waiting, capacity } = bucket
  const isFrozen = frozenUntil !== undefined && frozenUntil > serverClock.now()
  return (
    <>
      {paused && (
        <p class="note is-paused">
          <Icon name="paused" />
          <span>
            <b>Paused.</b> No job departs until the {what} is resumed.
          </span>
        </p>
      )}
      {isFrozen && (
        <p class="note is-frozen">
          <Icon name="frozen" />
          <span>
            <b>Frozen until {formatClock(frozenUntil)}.</b> Departures continue in{' '}
            <Counting at={frozenUntil} as="until" />.
          </span>
        </p>
      )}
      {waiting > capacity && (
        <p class="note is-warning">
          <Icon name="warning" />
          <span>
            <b>{formatCount(waiting - capacity)} units over capacity.</b> No job is dropped; new jobs are
            refused until there is room.
          </span>
        </p>
      )}
    </>
  )
}
