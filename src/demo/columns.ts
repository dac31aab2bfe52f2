/** A time span in slices of equal width; microseconds. */
export interface Slices {
  readonly from: number
  readonly width: number
  readonly count: number
}

/** Counts the times in each slice. */
export function countColumns(times: Iterable<number>, { from, width, count }: Slices): number[] {
  const columns = new Array<number>(count).fill(0)
  for (const time of times) {
    const index = Math.floor((time - from) / width)
    if (index >= 0 && index < count) columns[index]!++
  }
  return columns
}

/**
 * The same with each count spread over the `span` that begins at its time: evenly spaced calls become flat at any slice
 * width, and bunched calls pile up.
 */
export function spreadColumns(
  times: Iterable<number>,
  span: number,
  { from, width, count }: Slices,
): number[] {
  const columns = new Array<number>(count).fill(0)
  for (const time of times) {
    const start = (time - from) / width
    const end = start + span / width
    for (let index = Math.max(0, Math.floor(start)); index < Math.min(end, count); index++) {
      columns[index]! += ((Math.min(end, index + 1) - Math.max(start, index)) * width) / span
    }
  }
  return columns
}
