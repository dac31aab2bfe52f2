/** A stretch of time in slices of equal width; microseconds. */
export interface Slices {
  readonly from: number
  readonly width: number
  readonly count: number
}

/** How many of the times fall into each slice. */
export function countColumns(times: Iterable<number>, { from, width, count }: Slices): number[] {
  const columns = new Array<number>(count).fill(0)
  for (const time of times) {
    const index = Math.floor((time - from) / width)
    if (index >= 0 && index < count) columns[index]!++
  }
  return columns
}

/**
 * The same with each of them laid over the `span` that begins with it: calls that keep their interval come out flat
 * at any width of the slices, and calls that do not pile up.
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
