/** A line through points, and how far it can be trusted. */
export interface Slope {
  /** Of the value, for each unit of the first coordinate. */
  readonly perUnit: number
  /** Half of the middle 90 % of the slopes that samples drawn again from the points would give. */
  readonly noise: number
}

const DRAWS = 200

/**
 * The slope of Theil and Sen: the median of the slopes between all pairs of points, which a few outliers do not move. Its noise
 * is found by drawing as many points again, with repetition, 200 times. A slope that is no larger than its noise is none.
 */
export function slopeOf(points: readonly (readonly [x: number, y: number])[], random: () => number): Slope {
  if (points.length < 3) return { perUnit: 0, noise: Number.POSITIVE_INFINITY }
  const perUnit = medianSlope(points)
  const drawn = Array.from({ length: DRAWS }, () =>
    medianSlope(points.map(() => points[Math.floor(random() * points.length)]!)),
  ).sort((one, other) => one - other)
  return { perUnit, noise: (drawn[Math.floor(DRAWS * 0.95)]! - drawn[Math.floor(DRAWS * 0.05)]!) / 2 }
}

function medianSlope(points: readonly (readonly [number, number])[]): number {
  const slopes: number[] = []
  for (const [index, [x, y]] of points.entries()) {
    for (const [otherX, otherY] of points.slice(index + 1))
      if (otherX !== x) slopes.push((otherY - y) / (otherX - x))
  }
  slopes.sort((one, other) => one - other)
  return slopes[Math.floor(slopes.length / 2)] ?? 0
}
