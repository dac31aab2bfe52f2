/**
 * How late each start was against the grid of slots, in milliseconds: a slot is one interval after the one before,
 * and lateness beyond the tolerance moves it. For a key that always has work.
 */
export function latenessOf(starts: readonly number[], interval: number, tolerance: number): number[] {
  let slot = Number.NaN
  return starts.map((start, index) => {
    const due = index === 0 ? start : slot + interval
    slot = start - due > tolerance ? start : due
    return start - due
  })
}

/** The value that a share of them does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The longest time between two starts, whatever their keys; milliseconds. */
export function longestStandstill(starts: readonly number[]): number {
  const sorted = starts.toSorted((a, b) => a - b)
  return Math.max(...sorted.slice(1).map((start, index) => start - sorted[index]!))
}
