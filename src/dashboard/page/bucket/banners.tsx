import type { BucketView } from '../../../core/job.ts'
import { serverClock } from '../clock.ts'
import { formatClock, formatCount } from '../data/format.ts'
import { Counting } from '../parts/counting.tsx'
import { Icon } from '../parts/icon.tsx'

/** What keeps this line from moving, or newcomers from lining up. */
export function Banners({ bucket }: { readonly bucket: BucketView }) {
  const { paused, frozenUntil, waiting, capacity } = bucket
  const isFrozen = frozenUntil !== undefined && frozenUntil > serverClock.now()
  return (
    <>
      {paused && (
        <p class="note is-paused">
          <Icon name="paused" />
          <span>
            <b>Paused.</b> Nothing departs until the bucket is resumed.
          </span>
        </p>
      )}
      {isFrozen && (
        <p class="note is-frozen">
          <Icon name="frozen" />
          <span>
            <b>Frozen until {formatClock(frozenUntil)}.</b> Departures go on in{' '}
            <Counting at={frozenUntil} as="until" />.
          </span>
        </p>
      )}
      {waiting > capacity && (
        <p class="note is-warning">
          <Icon name="warning" />
          <span>
            <b>{formatCount(waiting - capacity)} more wait than the line holds.</b> Its capacity was lowered:
            no job is dropped, and new ones are refused until enough have left.
          </span>
        </p>
      )}
    </>
  )
}
