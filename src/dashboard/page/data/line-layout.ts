import type { LineJob } from '../../../core/line-view.ts'

/** Where the jobs of a line are drawn, in pixels from the departure. */
export interface LineLayout {
  /** The length of a full line if it fits, else the available width. */
  readonly length: number
  /** The length that waiting units take. */
  readonly taken: number
  readonly jobs: readonly { readonly job: LineJob; readonly at: number; readonly width: number }[]
  /** The number of waiting jobs that are not drawn. */
  readonly hidden: number
  readonly posts: readonly number[]
}

interface Scene {
  /** The available width. */
  readonly width: number
  readonly jobs: readonly LineJob[]
  /** All waiting jobs, listed or not. */
  readonly total: number
  /** Cost units. */
  readonly waiting: number
  readonly capacity: number
}

const MOST_DRAWN = 40
/** At least this many are drawn, even if there is no room to scale. */
const FEWEST_DRAWN = 10
const NARROWEST = 20
const WIDEST = 44
const BETWEEN_POSTS = 130
/** Where jobs are not to scale, a costly one is this many times as wide at most. */
const WIDEST_COST = 3

/** Places the jobs of a line; higher costs are wider. With enough room, widths are to scale; else only the taken share is. */
export function layOutLine({ width, jobs, total, waiting, capacity }: Scene): LineLayout {
  const unit = Math.max(NARROWEST, Math.min(WIDEST, width / Math.max(1, capacity)))
  const isToScale = capacity * unit <= width + 0.5
  const length = isToScale ? capacity * unit : width
  const share = capacity === 0 ? 1 : Math.min(1, waiting / capacity)
  const placed: { job: LineJob; at: number; width: number }[] = []
  let edge = 0
  for (const job of jobs.slice(0, MOST_DRAWN)) {
    const wide = unit * (isToScale ? job.cost : Math.min(job.cost, WIDEST_COST))
    const isBeyond = edge + wide > Math.max(share * length, unit) + 0.5
    if (edge + wide > length + 0.5 || (isBeyond && placed.length >= FEWEST_DRAWN)) break
    placed.push({ job, at: edge, width: wide })
    edge += wide
  }
  const spans = Math.max(1, Math.round(length / BETWEEN_POSTS))
  return {
    length,
    taken: Math.min(length, Math.max(edge, share * length)),
    jobs: placed,
    hidden: Math.max(0, total - placed.length),
    posts: Array.from({ length: spans + 1 }, (_, index) => (length * index) / spans),
  }
}
