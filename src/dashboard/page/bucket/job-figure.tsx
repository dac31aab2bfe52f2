import type { LineJob } from '../../../core/line-view.ts'

export type JobKind = 'waiting' | 'handed' | 'retrying' | 'turn'

function jobKind({ state, isTurn }: Pick<LineJob, 'state' | 'isTurn'>): JobKind {
  return isTurn === true && state !== 'handed' ? 'turn' : state
}

interface JobFigureProps {
  readonly job: Pick<LineJob, 'state' | 'cost' | 'isTurn'>
  readonly width: number
}

const TALL = 62
const BASE = 18
/** The width of one figure of a group. */
const PLACE = 20
const LARGEST_GROUP = 12

/** One job: a figure, or a group of figures for a higher cost. Each kind has its own mark or shape, not only a colour. */
export function JobFigure({ job, width }: JobFigureProps) {
  const { cost } = job
  const kind = jobKind(job)
  const count = cost === 1 ? 1 : Math.max(2, Math.min(cost, Math.round(width / PLACE), LARGEST_GROUP))
  const base = Math.min(BASE, width / count - 2)
  const middle = width / 2
  const group = Array.from({ length: count }, (_, index) => ((index + 0.5) * width) / count)
  return (
    <svg
      class="job-figure"
      viewBox={`0 0 ${width} ${TALL}`}
      width={width}
      height={TALL}
      aria-hidden="true"
      focusable="false"
    >
      <path class={`job-body is-${kind}`} d={group.map((at) => pawn(at, 2, TALL - 1, base)).join('')} />
      {kind === 'handed' && <path class="job-mark" d={`M${middle - 3.5} 52l2.5 2.7l4.5 -5.2`} />}
      {kind === 'retrying' && (
        <path
          class="job-mark"
          d={`M${middle - 3.2} 52.5a3.2 3.2 0 1 1 1.1 2.4M${middle - 3.6} 49.7v2.8h2.8`}
        />
      )}
      {cost > count && (
        <text class="job-cost" x={middle} y={-3}>
          ×{cost}
        </text>
      )}
    </svg>
  )
}

const HEAD = 7

/** A pawn of a board game: head and body in one outline, so that a hollow figure has no seam. */
export function pawn(middle: number, top: number, floor: number, base: number): string {
  const neck = top + 2 * HEAD - 1.5
  const half = base / 2
  const shoulder = neck + (floor - neck) * 0.3
  return (
    `M${middle - 3} ${neck}A${HEAD} ${HEAD} 0 1 1 ${middle + 3} ${neck}` +
    `C${middle + Math.min(5, half)} ${shoulder} ${middle + half} ${shoulder + 6} ${middle + half} ${floor - 2}` +
    `Q${middle + half} ${floor} ${middle + half - 2} ${floor}H${middle - half + 2}` +
    `Q${middle - half} ${floor} ${middle - half} ${floor - 2}` +
    `C${middle - half} ${shoulder + 6} ${middle - Math.min(5, half)} ${shoulder} ${middle - 3} ${neck}Z`
  )
}
