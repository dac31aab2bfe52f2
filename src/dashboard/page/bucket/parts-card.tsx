import type { BucketView, QuotaView } from '../../../core/bucket-view.ts'
import { serverClock } from '../clock.ts'
import { formatClock, formatCount, formatMoment, formatPercent } from '../data/format.ts'
import {
  type BucketParts,
  levelOf,
  type PartUse,
  placesUse,
  quotaUse,
  roomOfNextAt,
  shareOf,
} from '../data/parts.ts'
import { Counting } from '../parts/counting.tsx'

/** Up to this many places are drawn one by one. */
const MOST_PIPS = 40
const DAY_MS = 86_400_000

/** What the quotas and the places of a limit count now; nothing for a limit that has only a pace. */
export function PartsCard({ bucket }: { readonly bucket: BucketParts }) {
  const { quotas = [], places } = bucket
  if (quotas.length === 0 && places === undefined) return null
  return (
    <section class="card parts-card" aria-labelledby="parts-title">
      <h2 id="parts-title">Quotas and places</h2>
      <ul class="parts">
        {quotas.map((quota) => (
          <Quota key={quota.quota} bucket={bucket} quota={quota} />
        ))}
        {places !== undefined && <Places places={places} />}
      </ul>
    </section>
  )
}

function Quota({ bucket, quota }: { readonly bucket: BucketParts; readonly quota: QuotaView }) {
  const part = quotaUse(bucket, quota)
  // The next job may count more than another one would.
  const ofNext = roomOfNextAt(bucket, quota)
  const roomAt = ofNext ?? quota.roomAt
  return (
    <li class={`part ${levelOf(part)}`}>
      <span class="part-name">{part.name}</span>
      <Bar part={part} />
      <Numbers part={part} word="used" />
      <span class="part-room">
        {roomAt === undefined ? (
          <span class="none">room now</span>
        ) : (
          <>
            {ofNext === undefined ? 'room' : 'room for the next job'} in <Counting at={roomAt} as="until" />
            <span class="of"> at {momentOf(roomAt)}</span>
          </>
        )}
      </span>
    </li>
  )
}

function Places({ places }: { readonly places: NonNullable<BucketView['places']> }) {
  const part = placesUse(places)
  const { taken, of } = places
  return (
    <li class={`part ${levelOf(part)}`}>
      <span class="part-name">{part.name}</span>
      {of <= MOST_PIPS ? (
        <span class="pips" aria-hidden="true">
          {Array.from({ length: of }, (_, index) => (
            <span key={index} class={index < taken ? 'pip is-taken' : 'pip'} />
          ))}
        </span>
      ) : (
        <Bar part={part} />
      )}
      <Numbers part={part} word="running" />
      <span class="part-room">{part.isOut ? 'room when one ends' : <span class="none">room now</span>}</span>
    </li>
  )
}

function Bar({ part }: { readonly part: PartUse }) {
  return (
    <span class="fill-bar" aria-hidden="true">
      <span class="fill-part" style={{ transform: `scaleX(${shareOf(part)})` }} />
    </span>
  )
}

function Numbers({ part: { used, of }, word }: { readonly part: PartUse; readonly word: string }) {
  return (
    <span class="part-numbers">
      <b>{formatCount(used)}</b>
      <span class="of">
        {' '}
        of {formatCount(of)} {word}, {formatPercent(used / of)}
      </span>
    </span>
  )
}

/** The time of a day that is near, or the date with it. */
function momentOf(at: number): string {
  return at - serverClock.now() < DAY_MS ? formatClock(at) : formatMoment(at)
}
