import type { RecentDeparture } from '../../../core/line-view.ts'
import { gapPoints, gapsInWords, HIGHEST_RATIO } from '../data/gaps.ts'

const WIDE = 560
const TALL = 132
const LEFT = 34
const EDGE = 10

/** The evenness of the departures: a dot for each, on the line if its gap was exactly the interval. */
export function GapChart({ departures }: { readonly departures: readonly RecentDeparture[] }) {
  const across = (share: number) => LEFT + EDGE + share * (WIDE - LEFT - 2 * EDGE)
  const up = (share: number) => TALL - EDGE - share * (TALL - 2 * EDGE)
  const words = gapsInWords(departures)
  return (
    <figure class="gaps">
      <svg viewBox={`0 0 ${WIDE} ${TALL}`} role="img" aria-label={`Gaps between departures. ${words}`}>
        {[0, 1, HIGHEST_RATIO].map((ratio) => (
          <g key={ratio} class={ratio === 1 ? 'gap-beat' : 'gap-grid'}>
            <path d={`M${LEFT} ${up(ratio / HIGHEST_RATIO)}H${WIDE}`} />
            <text x={LEFT - 8} y={up(ratio / HIGHEST_RATIO) + 4}>
              {ratio.toFixed(2)}
            </text>
          </g>
        ))}
        {gapPoints(departures).map((point) =>
          point.isBeyond ? (
            <path key={point.id} class="gap-late" d={`M${across(point.across) - 4} ${up(1) + 5}l4 -7l4 7Z`} />
          ) : (
            <circle key={point.id} class="gap-dot" cx={across(point.across)} cy={up(point.up)} r={3.2} />
          ),
        )}
      </svg>
      <figcaption>{words}</figcaption>
    </figure>
  )
}
