import type { LineJob } from '../../../core/line-view.ts'

/** Where things stand along the rope, in pixels from the door. */
export interface RopePlan {
  /** As long as the line may get, if that fits; else as much room as there is. */
  readonly length: number
  /** Up to here the rope is taken. */
  readonly taken: number
  readonly guests: readonly { readonly guest: LineJob; readonly at: number; readonly width: number }[]
  /** Those who wait and are not drawn. */
  readonly hidden: number
  readonly posts: readonly number[]
}

interface Scene {
  /** Room for the rope. */
  readonly width: number
  readonly guests: readonly LineJob[]
  /** Those who wait, listed or not. */
  readonly total: number
  /** Cost units. */
  readonly waiting: number
  readonly capacity: number
}

const MOST_DRAWN = 40
/** So many are drawn even where, to scale, they would have no room. */
const FEWEST_DRAWN = 10
const NARROWEST = 20
const WIDEST = 44
const BETWEEN_POSTS = 130
/** Where guests are not to scale, a costly one is this many times as wide at most. */
const WIDEST_COST = 3

/** A guest who costs more is wider. With room enough a cost unit has its width of rope; else the share that is taken is true. */
export function planRope({ width, guests, total, waiting, capacity }: Scene): RopePlan {
  const unit = Math.max(NARROWEST, Math.min(WIDEST, width / Math.max(1, capacity)))
  const isToScale = capacity * unit <= width + 0.5
  const length = isToScale ? capacity * unit : width
  const share = capacity === 0 ? 1 : Math.min(1, waiting / capacity)
  const placed: { guest: LineJob; at: number; width: number }[] = []
  let edge = 0
  for (const guest of guests.slice(0, MOST_DRAWN)) {
    const wide = unit * (isToScale ? guest.cost : Math.min(guest.cost, WIDEST_COST))
    const isBeyond = edge + wide > Math.max(share * length, unit) + 0.5
    if (edge + wide > length + 0.5 || (isBeyond && placed.length >= FEWEST_DRAWN)) break
    placed.push({ guest, at: edge, width: wide })
    edge += wide
  }
  const spans = Math.max(1, Math.round(length / BETWEEN_POSTS))
  return {
    length,
    taken: Math.min(length, Math.max(edge, share * length)),
    guests: placed,
    hidden: Math.max(0, total - placed.length),
    posts: Array.from({ length: spans + 1 }, (_, index) => (length * index) / spans),
  }
}
