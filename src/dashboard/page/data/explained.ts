const LENGTH = String.raw`[\d.]+ (?:ms|s|min|h|days)`
const TIMES = new RegExp(` in ${LENGTH}(?= at )| for another ${LENGTH}`, 'g')

/** The sentence of an explanation without the times that are shown counting beside it, which it has only as of its answer. */
export function withoutTimes(summary: string): string {
  return summary.replace(TIMES, '')
}
