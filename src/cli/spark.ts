const LEVELS = ' ▁▂▃▄▅▆▇█'

export interface SparkOptions {
  /** The maximum width in characters. */
  readonly width: number
  /** The value of a full block, to draw several lines on one scale. Default: the largest value. */
  readonly max?: number
}

/** Draws values as blocks of eight heights. Values above 0 show at least the lowest block. */
export function spark(values: readonly number[], options: SparkOptions): string {
  const columns = resample(values, options.width)
  const max = options.max ?? Math.max(0, ...columns)
  return columns.map((value) => LEVELS[level(value, max)]).join('')
}

/** Averages runs of neighbours, so that at most `width` values remain. */
export function resample(values: readonly number[], width: number): number[] {
  const run = Math.max(1, Math.ceil(values.length / width))
  const columns: number[] = []
  for (let from = 0; from < values.length; from += run) {
    const part = values.slice(from, from + run)
    // Missing values of a shorter last run count as 0, else its column would stick out.
    columns.push(part.reduce((sum, value) => sum + value, 0) / run)
  }
  return columns
}

function level(value: number, max: number): number {
  if (!(value > 0) || max <= 0) return 0
  return Math.max(1, Math.min(8, Math.round((value / max) * 8)))
}
