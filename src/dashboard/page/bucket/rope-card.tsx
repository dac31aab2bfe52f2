import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { BucketView } from '../../../core/job.ts'
import type { LineView } from '../../../core/line-view.ts'
import { formatCount, formatPercent } from '../data/format.ts'
import { planRope } from '../data/rope-plan.ts'
import { DOOR_WIDTH, Door } from './door.tsx'
import { Guests } from './guests.tsx'
import { Legend } from './legend.tsx'
import { RopeScene } from './rope-scene.tsx'

interface RopeCardProps {
  readonly isKnown: boolean
  /** Undefined: it is empty, and its time has passed. */
  readonly bucket: BucketView | undefined
  readonly line: LineView | undefined
  readonly lastDepartureAt: number | undefined
  readonly chosen: string | undefined
  readonly onChoose: (id: string | undefined) => void
}

const MARGIN = 20
/** Of a rope behind which nobody waits, and nobody knows how long it may get. */
const UNKNOWN_CAPACITY = 12

/** The line as a rope with those who wait behind it, and the door that lets them through one by one. */
export function RopeCard({ isKnown, bucket, line, lastDepartureAt, chosen, onChoose }: RopeCardProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const measure = () => setWidth(frame.current!.clientWidth)
    const observer = new ResizeObserver(measure)
    observer.observe(frame.current!)
    measure()
    return () => observer.disconnect()
  }, [])
  const { waiting = 0, capacity = UNKNOWN_CAPACITY, state = 'idle', fill = 0 } = bucket ?? {}
  const { jobs: guests = [], total = 0 } = line ?? {}
  const plan = planRope({
    width: Math.max(120, width - DOOR_WIDTH - MARGIN),
    guests,
    total,
    waiting,
    capacity,
  })
  const isFull = fill >= 1
  return (
    <section class={`card rope-card state-${state}`} aria-labelledby="rope-title">
      <header class="rope-head">
        <h2 id="rope-title" class="sr-only">
          The line
        </h2>
        <p class="rope-count">
          <b>{isKnown ? formatCount(waiting) : '–'}</b>
          <span>
            {bucket === undefined ? 'waiting' : `of ${formatCount(capacity)} waiting, ${formatPercent(fill)}`}
          </span>
          {isFull && <span class="full-sign">Full</span>}
        </p>
        <Legend />
      </header>
      <div ref={frame} class="rope-frame">
        {width > 0 && (
          <>
            <RopeScene plan={plan} width={width - DOOR_WIDTH} isFull={isFull} />
            <Guests plan={plan} origin={width - DOOR_WIDTH} chosen={chosen} onChoose={onChoose} />
            <Door bucket={bucket} lastDepartureAt={lastDepartureAt} />
          </>
        )}
        {isKnown && total === 0 && (
          <p class="rope-empty">
            {bucket?.running
              ? 'No job waits; those that were admitted are running.'
              : 'No job waits. A new one starts at once if a handler is free.'}
          </p>
        )}
      </div>
    </section>
  )
}
