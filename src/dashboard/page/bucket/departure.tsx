import { useLayoutEffect, useRef } from 'preact/hooks'
import type { BucketView } from '../../../core/bucket-view.ts'
import { serverClock } from '../clock.ts'
import { Counting } from '../parts/counting.tsx'
import { Icon } from '../parts/icon.tsx'
import { FLOOR, SCENE_HEIGHT } from './line-scene.tsx'

export const DEPARTURE_WIDTH = 116
const MIDDLE = DEPARTURE_WIDTH / 2
const RING = 30
const AROUND = 2 * Math.PI * RING
/** Below this, the ring would only flicker. */
const SHORTEST_MS = 300

interface DepartureProps {
  readonly bucket: BucketView | undefined
  readonly lastDepartureAt: number | undefined
}

/** The end of the line, with the time until the next departure. */
export function Departure({ bucket, lastDepartureAt }: DepartureProps) {
  const { state = 'idle', nextDepartureAt, paused = false, heldBy } = bucket ?? {}
  return (
    <div class={`departure state-${state}`}>
      <svg width={DEPARTURE_WIDTH} height={SCENE_HEIGHT} aria-hidden="true" focusable="false">
        <defs>
          <linearGradient id="glow" x1="0" y1="0" x2="0" y2="1">
            <stop class="glow-top" offset="0" />
            <stop class="glow-foot" offset="1" />
          </linearGradient>
        </defs>
        <path class="departure-frame" d={arch(44, 14)} />
        <path class="departure-inside" d={arch(37, 21)} fill="url(#glow)" />
        <path class="departure-step" d={`M6 ${FLOOR + 3}H${DEPARTURE_WIDTH - 6}`} />
        <circle class="ring-back" cx={MIDDLE} cy={76} r={RING} />
        <Ring at={paused ? undefined : nextDepartureAt} before={lastDepartureAt} />
      </svg>
      <p class="departure-time">
        <span class="sr-only">Next departure: </span>
        {paused ? (
          <>
            <Icon name="paused" />
            <span class="sr-only">paused</span>
          </>
        ) : nextDepartureAt === undefined ? (
          <span class="departure-word">{heldBy?.reason === 'place' ? 'no place' : 'open'}</span>
        ) : (
          <Counting at={nextDepartureAt} as="until" />
        )}
      </p>
    </div>
  )
}

/** A ring that closes at the next departure; the browser animates it without rendering. */
function Ring({ at, before }: { readonly at: number | undefined; readonly before: number | undefined }) {
  const circle = useRef<SVGCircleElement>(null)
  useLayoutEffect(() => {
    if (at === undefined) return
    const left = at - serverClock.now()
    const whole = Math.max(left, before === undefined || before > at ? 0 : at - before)
    if (left <= 0 || whole < SHORTEST_MS) return
    const steps = [{ strokeDashoffset: AROUND * (left / whole) }, { strokeDashoffset: 0 }]
    const moving = circle.current!.animate(steps, { duration: left, fill: 'forwards' })
    return () => moving.cancel()
  }, [at])
  if (at === undefined) return null
  return (
    <circle
      ref={circle}
      class="ring"
      cx={MIDDLE}
      cy={76}
      r={RING}
      stroke-dasharray={AROUND}
      transform={`rotate(-90 ${MIDDLE} 76)`}
    />
  )
}

/** The outline of an arch, by half its width and its distance from the top. */
function arch(half: number, top: number): string {
  const [left, right] = [MIDDLE - half, MIDDLE + half]
  return `M${left} ${FLOOR + 3}V${top + half}A${half} ${half} 0 0 1 ${right} ${top + half}V${FLOOR + 3}Z`
}
