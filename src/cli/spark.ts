const LEVELS = ' ▁▂▃▄▅▆▇█'

export interface SparkOptions {
  /** Characters at most. */
  readonly width: number
  /** The value of a full block; default: the largest value. Give it, to draw several lines on one scale. */
  readonly max?: number
}

/** Draws values as a line of blocks of eight heights. Anything above 0 shows at least the lowest. */
export function spark(values: readonly number[], options: SparkOptions): string {
  const columns = resample(values, options.width)
  const max = options.max ?? Math.max(0, ...columns)
  return columns.map((value) => LEVELS[level(value, max)]).join('')
}

/** The mean of each run of neighbours, so that at most `width` values are left. */
export function resample(values: readonly number[], width: number): number[] {
  const run = Math.max(1, Math.ceil(values.length / width))
  const columns: number[] = []
  for (let from = 0; from < values.length; from += run) {
    const part = values.slice(from, from + run)
    // The last run may be shorter; what is missing counts as nothing, or its column would stick out.
    columns.push(part.reduce((sum, value) => sum + value, 0) / run)
  }
  return columns
}

function level(value: number, max: number): number {
  if (!(value > 0) || max <= 0) return 0
  return Math.max(1, Math.min(8, Math.round((value / max) * 8)))
}
