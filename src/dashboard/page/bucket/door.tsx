import { useLayoutEffect, useRef } from 'preact/hooks'
import type { BucketView } from '../../../core/job.ts'
import { serverClock } from '../clock.ts'
import { Counting } from '../parts/counting.tsx'
import { Icon } from '../parts/icon.tsx'
import { FLOOR, SCENE_HEIGHT } from './rope-scene.tsx'

export const DOOR_WIDTH = 116
const MIDDLE = DOOR_WIDTH / 2
const RING = 30
const AROUND = 2 * Math.PI * RING
/** Faster than this a ring only flickers. */
const SHORTEST_MS = 300

interface DoorProps {
  readonly bucket: BucketView | undefined
  readonly lastDepartureAt: number | undefined
}

/** The door, and over it how long until the next one may go in. */
export function Door({ bucket, lastDepartureAt }: DoorProps) {
  const { state = 'idle', nextDepartureAt, paused = false } = bucket ?? {}
  return (
    <div class={`door state-${state}`}>
      <svg width={DOOR_WIDTH} height={SCENE_HEIGHT} aria-hidden="true" focusable="false">
        <defs>
          <linearGradient id="glow" x1="0" y1="0" x2="0" y2="1">
            <stop class="glow-top" offset="0" />
            <stop class="glow-foot" offset="1" />
          </linearGradient>
        </defs>
        <path class="door-frame" d={arch(44, 14)} />
        <path class="door-inside" d={arch(37, 21)} fill="url(#glow)" />
        <path class="door-step" d={`M6 ${FLOOR + 3}H${DOOR_WIDTH - 6}`} />
        <circle class="ring-back" cx={MIDDLE} cy={76} r={RING} />
        <Ring at={paused ? undefined : nextDepartureAt} before={lastDepartureAt} />
      </svg>
      <p class="door-time">
        <span class="sr-only">Next departure: </span>
        {paused ? (
          <>
            <Icon name="paused" />
            <span class="sr-only">paused</span>
          </>
        ) : nextDepartureAt === undefined ? (
          <span class="door-open">open</span>
        ) : (
          <Counting at={nextDepartureAt} as="until" />
        )}
      </p>
    </div>
  )
}

/** Closes until the moment of the next departure. The browser moves it, and nothing is drawn again for it. */
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

/** The outline of a doorway, so far from its middle, and so far from the top. */
function arch(half: number, top: number): string {
  const [left, right] = [MIDDLE - half, MIDDLE + half]
  return `M${left} ${FLOOR + 3}V${top + half}A${half} ${half} 0 0 1 ${right} ${top + half}V${FLOOR + 3}Z`
}
