import { formatCount } from '../data/format.ts'
import type { RopePlan } from '../data/rope-plan.ts'
import { pawn } from './guest-figure.tsx'

/** Where things are, from the top of the picture, in pixels. */
export const FLOOR = 168
export const SCENE_HEIGHT = 196
const POST_TOP = 118
const HOOK = 130
const SAG = 22

interface RopeSceneProps {
  readonly plan: RopePlan
  /** From the left to the door. */
  readonly width: number
  readonly isFull: boolean
}

/** The carpet, and in front of the guests the rope: velvet as far as it is taken, a faint cord where there is room. */
export function RopeScene({ plan, width, isFull }: RopeSceneProps) {
  const { length, taken, posts, hidden, guests } = plan
  const from = width - length
  const lastGuest = guests.at(-1)
  const edge = lastGuest === undefined ? 0 : lastGuest.at + lastGuest.width
  const cord = cordOf(posts.map((post) => width - post))
  return (
    <>
      <svg class="rope-back" width={width} height={SCENE_HEIGHT} aria-hidden="true" focusable="false">
        <rect class="carpet" x={from} y={FLOOR - 4} width={length} height={10} rx={5} />
        {hidden > 0 && <Crowd from={width - taken} to={width - edge} />}
      </svg>
      <svg
        class={`rope-front ${isFull ? 'is-full' : ''}`}
        width={width}
        height={SCENE_HEIGHT}
        aria-hidden="true"
        focusable="false"
      >
        <clipPath id="taken">
          <rect x={width - taken} y={0} width={taken === 0 ? 0 : taken + 6} height={SCENE_HEIGHT} />
        </clipPath>
        <path class="cord" d={cord} />
        <g clip-path="url(#taken)">
          <path class="velvet" d={cord} />
          <path class="velvet-light" d={cord} />
        </g>
        {posts.map((post) => (
          <Post key={post} at={width - post} />
        ))}
      </svg>
      {hidden > 0 && (
        <p class="more-guests" style={{ transform: middle((2 * width - taken - edge) / 2) }}>
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

const BETWEEN_HEADS = 9

/** Those who are too many to be drawn one by one: heads behind heads. */
function Crowd({ from, to }: { readonly from: number; readonly to: number }) {
  const count = Math.max(0, Math.floor((to - from - 4) / BETWEEN_HEADS))
  return (
    <g class="crowd">
      {Array.from({ length: count }, (_, index) => {
        const at = to - 8 - index * BETWEEN_HEADS
        const height = index % 3 === 0 ? 5 : index % 2 === 0 ? 0 : 3
        return <path key={at} d={pawn(at, FLOOR - 52 - height, FLOOR, 14)} />
      })}
    </g>
  )
}

/** A rope that hangs from post to post. */
function cordOf(posts: readonly number[]): string {
  const [first = 0, ...others] = posts
  let text = `M${first} ${HOOK}`
  let before = first
  for (const post of others) {
    text += `C${before + (post - before) * 0.3} ${HOOK + SAG} ${before + (post - before) * 0.7} ${HOOK + SAG} ${post} ${HOOK}`
    before = post
  }
  return text
}
