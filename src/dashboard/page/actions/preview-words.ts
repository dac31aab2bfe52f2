import type { PreviewedStanding } from '../../../core/rule-view.ts'
import { formatCount, formatSpan } from '../data/format.ts'

/** Samples that a preview shows. */
export const SHOWN = 6

/** `~` marks an estimate. */
export function spanOf({ drainMs, isEstimate }: PreviewedStanding): string {
  return `${isEstimate ? '~' : ''}${formatSpan(drainMs)}`
}

export function plural(count: number, word: string): string {
  return `${formatCount(count)} ${word}${count === 1 ? '' : 's'}`
}
