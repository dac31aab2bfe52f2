/** The longest time between two starts, whatever their keys; milliseconds. */
export function longestStandstill(starts: readonly number[]): number {
  const sorted = starts.toSorted((a, b) => a - b)
  return Math.max(...sorted.slice(1).map((start, index) => start - sorted[index]!))
}
