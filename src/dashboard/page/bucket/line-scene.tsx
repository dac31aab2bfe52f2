import { formatCount } from '../data/format.ts'
import type { LineLayout } from '../data/line-layout.ts'
import { pawn } from './job-figure.tsx'

/** Distances from the top of the picture, in pixels. */
export const FLOOR = 168
export const SCENE_HEIGHT = 196
const POST_TOP = 118
const HOOK = 130
const SAG = 22

interface LineSceneProps {
  readonly plan: LineLayout
  /** The distance from the left edge to the departure. */
  readonly width: number
  readonly isFull: boolean
}

/** The picture behind and in front of the jobs: a cord, bold as far as the capacity is taken, faint where there is room. */
export function LineScene({ plan, width, isFull }: LineSceneProps) {
  const { length, taken, posts, hidden, jobs } = plan
  const from = width - length
  const lastJob = jobs.at(-1)
  const edge = lastJob === undefined ? 0 : lastJob.at + lastJob.width
  const cord = linePath(posts.map((post) => width - post))
  return (
    <>
      <svg class="line-back" width={width} height={SCENE_HEIGHT} aria-hidden="true" focusable="false">
        <rect class="ground" x={from} y={FLOOR - 4} width={length} height={10} rx={5} />
        {hidden > 0 && <HiddenJobs from={width - taken} to={width - edge} />}
      </svg>
      <svg
        class={`line-front ${isFull ? 'is-full' : ''}`}
        width={width}
        height={SCENE_HEIGHT}
        aria-hidden="true"
        focusable="false"
      >
        <clipPath id="taken">
          <rect x={width - taken} y={0} width={taken === 0 ? 0 : taken + 6} height={SCENE_HEIGHT} />
        </clipPath>
        <path class="free-part" d={cord} />
        <g clip-path="url(#taken)">
          <path class="taken-part" d={cord} />
          <path class="taken-light" d={cord} />
        </g>
        {posts.map((post) => (
          <Post key={post} at={width - post} />
        ))}
      </svg>
      {hidden > 0 && (
        <p class="more-jobs" style={{ transform: middle((2 * width - taken - edge) / 2) }}>
          + {formatCount(hidden)} more
        </p>
      )}
    </>
  )
}

function middle(at: number): string {
  return `translateX(max(0px, calc(${at}px - 50%)))`
}

function Post({ at }: { readonly at: number }) {
  return (
    <g class="post">
      <ellipse class="post-foot" cx={at} cy={FLOOR + 5} rx={11} ry={3.5} />
      <rect class="post-pole" x={at - 2} y={POST_TOP} width={4} height={FLOOR + 4 - POST_TOP} rx={1.5} />
      <circle class="post-knob" cx={at} cy={POST_TOP - 3} r={6} />
    </g>
  )
}

const BETWEEN_FIGURES = 9

/** The jobs that are too many to be drawn one by one: figures behind each other. */
function HiddenJobs({ from, to }: { readonly from: number; readonly to: number }) {
  const count = Math.max(0, Math.floor((to - from - 4) / BETWEEN_FIGURES))
  return (
    <g class="hidden-jobs">
      {Array.from({ length: count }, (_, index) => {
        const at = to - 8 - index * BETWEEN_FIGURES
        const height = index % 3 === 0 ? 5 : index % 2 === 0 ? 0 : 3
        return <path key={at} d={pawn(at, FLOOR - 52 - height, FLOOR, 14)} />
      })}
    </g>
  )
}

/** The path of a cord that hangs between the posts. */
function linePath(posts: readonly number[]): string {
  const [first = 0, ...others] = posts
  let text = `M${first} ${HOOK}`
  let before = first
  for (const post of others) {
    text += `C${before + (post - before) * 0.3} ${HOOK + SAG} ${before + (post - before) * 0.7} ${HOOK + SAG} ${post} ${HOOK}`
    before = post
  }
  return text
}
