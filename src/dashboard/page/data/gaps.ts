import type { RecentDeparture } from '../../../core/line-view.ts'

/** The rate of departures, given newest first; undefined for fewer than two. */
export function departuresPerSecond(departures: readonly RecentDeparture[]): number | undefined {
  const [newest, oldest] = [departures[0], departures.at(-1)]
  if (newest === undefined || oldest === undefined || newest.at <= oldest.at) return undefined
  return ((departures.length - 1) * 1_000) / (newest.at - oldest.at)
}

export interface GapPoint {
  readonly id: string
  readonly ratio: number
  /** The horizontal place, 0 (left, the oldest) to 1. */
  readonly across: number
  /** The vertical place, 0 (bottom) to 1; ratios beyond the chart are at its edge. */
  readonly up: number
  readonly isBeyond: boolean
}

/** The highest ratio in the chart: departures may be late by any amount. */
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

/** The gaps in words: the caption, and the text for screen readers. */
export function gapsInWords(departures: readonly RecentDeparture[]): string {
  const ratios = departures.flatMap(({ gapRatio }) => (gapRatio === undefined ? [] : [gapRatio]))
  if (ratios.length === 0) return 'Fewer than two departures so far.'
  const sorted = ratios.toSorted((one, other) => one - other)
  const median = sorted[Math.floor(sorted.length / 2)]!
  return `Smallest gap ${sorted[0]!.toFixed(2)}, median gap ${median.toFixed(2)} of the interval.`
}
