import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { BucketView } from '../../../core/bucket-view.ts'
import type { LineView } from '../../../core/line-view.ts'
import { formatCount, formatPercent } from '../data/format.ts'
import { layOutLine } from '../data/line-layout.ts'
import { DEPARTURE_WIDTH, Departure } from './departure.tsx'
import { Legend } from './legend.tsx'
import { LineJobs } from './line-jobs.tsx'
import { LineScene } from './line-scene.tsx'

interface LineCardProps {
  readonly isKnown: boolean
  /** Undefined: the bucket is not live. */
  readonly bucket: BucketView | undefined
  readonly line: LineView | undefined
  readonly lastDepartureAt: number | undefined
  readonly chosen: string | undefined
  readonly onChoose: (id: string | undefined) => void
}

const MARGIN = 20
/** The drawn capacity while the real one is unknown. */
const UNKNOWN_CAPACITY = 12

/** A picture of the line: the waiting jobs behind a cord, and the departure at its end. */
export function LineCard({ isKnown, bucket, line, lastDepartureAt, chosen, onChoose }: LineCardProps) {
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
  const { jobs = [], total = 0 } = line ?? {}
  const plan = layOutLine({
    width: Math.max(120, width - DEPARTURE_WIDTH - MARGIN),
    jobs,
    total,
    waiting,
    capacity,
  })
  const isFull = fill >= 1
  return (
    <section class={`card line-card state-${state}`} aria-labelledby="line-title">
      <header class="line-head">
        <h2 id="line-title" class="sr-only">
          The line
        </h2>
        <p class="line-count">
          <b>{isKnown ? formatCount(waiting) : '–'}</b>
          <span>
            {bucket === undefined ? 'waiting' : `of ${formatCount(capacity)} waiting, ${formatPercent(fill)}`}
          </span>
          {isFull && <span class="full-sign">Full</span>}
        </p>
        <Legend />
      </header>
      <div ref={frame} class="line-frame">
        {width > 0 && (
          <>
            <LineScene plan={plan} width={width - DEPARTURE_WIDTH} isFull={isFull} />
            <LineJobs plan={plan} origin={width - DEPARTURE_WIDTH} chosen={chosen} onChoose={onChoose} />
            <Departure bucket={bucket} lastDepartureAt={lastDepartureAt} />
          </>
        )}
        {isKnown && total === 0 && (
          <p class="line-empty">
            {bucket?.running
              ? 'No job is waiting; the admitted jobs are running.'
              : 'No job is waiting. A new one starts at once if a handler is free.'}
          </p>
        )}
      </div>
    </section>
  )
}
