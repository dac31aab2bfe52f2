import type { LineJob } from '../../../core/line-view.ts'

export type GuestKind = 'waiting' | 'handed' | 'retrying' | 'turn'

function guestKind({ state, isTurn }: Pick<LineJob, 'state' | 'isTurn'>): GuestKind {
  return isTurn === true && state !== 'handed' ? 'turn' : state
}

interface GuestFigureProps {
  readonly guest: Pick<LineJob, 'state' | 'cost' | 'isTurn'>
  readonly width: number
}

const TALL = 62
const BASE = 18
/** Of a company as broad as this each has his place. */
const PLACE = 20
const LARGEST_COMPANY = 12

/** A guest; or a company, if he costs more. Each kind has a mark or a shape of its own, so that nobody needs the colours. */
export function GuestFigure({ guest, width }: GuestFigureProps) {
  const { cost } = guest
  const kind = guestKind(guest)
  const count = cost === 1 ? 1 : Math.max(2, Math.min(cost, Math.round(width / PLACE), LARGEST_COMPANY))
  const base = Math.min(BASE, width / count - 2)
  const middle = width / 2
  const company = Array.from({ length: count }, (_, index) => ((index + 0.5) * width) / count)
  return (
    <svg
      class="guest-figure"
      viewBox={`0 0 ${width} ${TALL}`}
      width={width}
      height={TALL}
      aria-hidden="true"
      focusable="false"
    >
      <path class={`guest-body is-${kind}`} d={company.map((at) => pawn(at, 2, TALL - 1, base)).join('')} />
      {kind === 'handed' && <path class="guest-mark" d={`M${middle - 3.5} 52l2.5 2.7l4.5 -5.2`} />}
      {kind === 'retrying' && (
        <path
          class="guest-mark"
          d={`M${middle - 3.2} 52.5a3.2 3.2 0 1 1 1.1 2.4M${middle - 3.6} 49.7v2.8h2.8`}
        />
      )}
      {cost > count && (
        <text class="guest-cost" x={middle} y={-3}>
          ×{cost}
        </text>
      )}
    </svg>
  )
}

const HEAD = 7

/** A pawn, as of a board game: head and gown in one outline, so that one who is hollow has no seam. */
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
