/** The middle of the values; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values)
  const middle = sorted.length / 2
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2
}

/** The smallest value that at least `share` of all values do not exceed (nearest rank). */
export function quantile(values: readonly number[], share: number): number {
  const sorted = ascending(values)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The times between each start and the one before it. */
export function gapsOf(starts: readonly number[]): number[] {
  return starts.slice(1).map((start, index) => start - starts[index]!)
}

/** Intervals that fit between the first start and the last, as a share of those that should have. */
export function utilisation(starts: readonly number[], interval: number): number {
  return ((starts.length - 1) * interval) / (starts.at(-1)! - starts[0]!)
}

/** The most starts that any window of this length holds; the window is open at its end. */
export function mostWithin(starts: readonly number[], length: number): number {
  let most = 0
  let first = 0
  for (const [index, start] of starts.entries()) {
    while (start - starts[first]! >= length) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

function ascending(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}
