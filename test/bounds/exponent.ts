/** A size, and what something cost at it. */
export type Measured = readonly [size: number, cost: number]

/**
 * The exponent e of cost = c * size^e, fitted on a log-log scale by least squares: 0 for a constant cost, 1 for one that grows
 * with the size, about 0.1 for one that grows with its logarithm.
 */
export function exponentOf(measured: readonly Measured[]): number {
  const points = measured.map(([size, cost]) => [Math.log(size), Math.log(Math.max(1, cost))] as const)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, of]) => of))]
  const slope = points.reduce((sum, [at, of]) => sum + (at - x) * (of - y), 0)
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0)
  return spread === 0 ? 0 : slope / spread
}
