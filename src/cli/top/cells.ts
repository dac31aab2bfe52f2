import type { BucketState } from '../../core/bucket-view.ts'
import { showText } from '../display-text.ts'
import { formatFill } from '../numbers.ts'
import type { TopRow } from './rows.ts'

/** Blocks of an eighth of a character each, from left to right. */
const EIGHTHS = ' ▏▎▍▌▋▊▉'

/** The cells of a row as text. */
export interface BucketCells {
  readonly key: string
  readonly percent: string
  readonly waiting: string
  readonly rate: string
  readonly next: string
  readonly oldest: string
  readonly running: string
  /** Only of a total. */
  readonly children: string
  readonly state: BucketState
}

/** @param now epoch milliseconds; used only if the view does not contain the time of the line */
export function bucketCells(view: TopRow, now: number): BucketCells {
  const { key, fill, waiting, capacity, limit, oldestWaitMs, running, children, state } = view
  return {
    key: showText(key),
    percent: formatFill(fill),
    waiting: `${shortCount(waiting)}/${shortCount(capacity)}`,
    rate: showText(limit.split(', ')[1] ?? limit),
    next: nextDeparture(view, now),
    oldest: oldestWaitMs > 0 ? shortTime(oldestWaitMs) : '-',
    running: shortCount(running),
    children: children === undefined ? '' : shortCount(children),
    state,
  }
}

/** A bar for a fill, and the free rest of its width; a fill above 1 is drawn as full. */
export function fillBar(fill: number, width: number): readonly [taken: string, free: string] {
  const eighths = Math.round(Math.max(0, Math.min(1, fill)) * width * 8)
  // Any fill above 0 is visible, and only a full line looks full.
  const shown = fill > 0 ? Math.max(1, fill < 1 ? Math.min(eighths, width * 8 - 1) : eighths) : 0
  const rest = shown % 8 === 0 ? '' : EIGHTHS[shown % 8]!
  const taken = '█'.repeat(shown >> 3) + rest
  return [taken, '·'.repeat(width - taken.length)]
}

/** Formats a count in at most four characters, up to 999 million. */
export function shortCount(count: number): string {
  if (count < 10_000) return String(Math.round(count))
  const [size, unit] = count < 999_500 ? [1e3, 'k'] : count < 999_500_000 ? [1e6, 'M'] : [1e9, 'G']
  const value = count / size
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`
}

/** Formats a duration in at most five characters. */
export function shortTime(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 0.9995) return `${Math.round(ms)}ms`
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`
  if (seconds < 99.5) return `${Math.round(seconds)}s`
  if (seconds < 99.5 * 60) return `${Math.round(seconds / 60)}m`
  if (seconds < 99.5 * 3_600) return `${Math.round(seconds / 3_600)}h`
  return `${Math.round(seconds / 86_400)}d`
}

/** The time until the next departure, by the line's own clock if the view contains it. */
function nextDeparture({ nextDepartureAt, waitingSince, oldestWaitMs }: TopRow, now: number): string {
  if (nextDepartureAt === undefined) return '-'
  const at = waitingSince === undefined ? now : waitingSince + oldestWaitMs
  const inMs = nextDepartureAt - at
  return inMs <= 0 ? 'now' : shortTime(inMs)
}
