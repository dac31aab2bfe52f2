import type { RecentDeparture } from '../../../core/line-view.ts'

/** How fast they left, newest first; undefined where fewer than two are known. */
export function departuresPerSecond(departures: readonly RecentDeparture[]): number | undefined {
  const [newest, oldest] = [departures[0], departures.at(-1)]
  if (newest === undefined || oldest === undefined || newest.at <= oldest.at) return undefined
  return ((departures.length - 1) * 1_000) / (newest.at - oldest.at)
}

export interface GapPoint {
  readonly id: string
  readonly ratio: number
  /** 0 on the left, which is the oldest, to 1. */
  readonly across: number
  /** 0 at the bottom to 1: where the ratio is, or the edge if it is beyond. */
  readonly up: number
  readonly isBeyond: boolean
}

/** The chart ends here: late is allowed, and by how much does not matter to it. */
export const HIGHEST_RATIO = 2

/** Gaps for a chart, oldest first. */
export function gapPoints(departures: readonly RecentDeparture[]): GapPoint[] {
  const known = departures.filter((departure) => departure.gapRatio !== undefined).toReversed()
  return known.map(({ id, gapRatio = 0 }, index) => ({
    id,
    ratio: gapRatio,
    across: known.length === 1 ? 0.5 : index / (known.length - 1),
    up: Math.min(1, gapRatio / HIGHEST_RATIO),
    isBeyond: gapRatio > HIGHEST_RATIO,
  }))
}

/** In words, for those who cannot see it, and above it for those who can. */
export function gapsInWords(departures: readonly RecentDeparture[]): string {
  const ratios = departures.flatMap(({ gapRatio }) => (gapRatio === undefined ? [] : [gapRatio]))
  if (ratios.length === 0) return 'No two departures yet.'
  const sorted = ratios.toSorted((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)]!
  return `Smallest gap ${sorted[0]!.toFixed(2)}, median gap ${middle.toFixed(2)} of the interval.`
}
