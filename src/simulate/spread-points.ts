import { SECOND } from '../core/duration.ts'
import type { Point } from './chart.ts'
import type { TimeBins } from './time-bins.ts'

/** Aligns columns in width and number, so that they can be drawn above each other. */
export function alignBins(bins: readonly TimeBins[]): void {
  const width = Math.max(...bins.map((each) => each.width))
  for (const each of bins) each.widenTo(width)
  const length = Math.max(...bins.map(({ counts }) => counts.length))
  for (const each of bins) each.extendTo(length)
}

/** Columns as a rate over time: seconds, and jobs per second. */
export function ratePoints(bins: TimeBins): Point[] {
  const perSecond = bins.width / SECOND
  const points = bins.counts.map((count, index): Point => [timeOf(bins, index), count / perSecond])
  return [...points, [timeOf(bins, bins.counts.length), 0]]
}

/** The difference of two counts over time: arrived and not departed. Both must be aligned. */
export function betweenPoints(came: TimeBins, gone: TimeBins): Point[] {
  let between = 0
  const points = came.counts.map((count, index): Point => {
    between += count - gone.counts[index]!
    return [timeOf(came, index + 1), between]
  })
  return [[timeOf(came, 0), 0], ...points]
}

/** The sum of several rates; their columns must be aligned. */
export function sumPoints(...rates: readonly (readonly Point[])[]): Point[] {
  const [first = [], ...others] = rates
  return first.map(([x, y], index) => [x, others.reduce((sum, other) => sum + other[index]![1], y)])
}

export function peakOf(points: readonly Point[]): number {
  return points.reduce((peak, [, y]) => Math.max(peak, y), 0)
}

function timeOf(bins: TimeBins, index: number): number {
  return (bins.start + index * bins.width) / SECOND
}
