import { SECOND } from '../../core/duration.ts'
import { formatValue } from '../../simulate/axis.ts'
import type { Spread } from '../../simulate/simulation.ts'
import { alignBins } from '../../simulate/spread-points.ts'
import type { Summary } from '../../simulate/summary.ts'
import type { TimeBins } from '../../simulate/time-bins.ts'
import { formatCount, formatMoment, formatSeconds, formatShare } from '../numbers.ts'
import { resample, spark } from '../spark.ts'
import { renderFacts } from '../table.ts'
import { paint, terminalWidth } from '../terminal.ts'

/** Renders the answer of `simulate`: counts, waits, and a picture of arrivals and departures. */
export function simulateReport(summary: Summary, spread: Spread | undefined, limit: string): string {
  const { arrivals, accepted, rejected, rejections } = summary
  const facts: [string, string][] = [
    ['limit', limit],
    ['arrivals', arrivalsOf(summary)],
    ['accepted', `${formatCount(accepted)}  ${formatShare(accepted, arrivals)}`],
    ['rejected', `${formatCount(rejected)}  ${formatShare(rejected, arrivals)}${reasons(rejections)}`],
    ...tooCostly(summary),
    ['wait', waits(summary)],
    ['fullest bucket', fullest(summary)],
    ...heldBack(summary),
  ]
  const picture = spread === undefined ? '' : `\n\n${drawSpread(spread)}`
  return `${renderFacts(facts)}${picture}`
}

function drawSpread({ accepted, rejected, departures }: Spread): string {
  alignBins([accepted, rejected, departures])
  const width = Math.max(20, terminalWidth() - 32)
  const arrived = resample(sumOf(accepted, rejected), width)
  const departed = resample(departures.counts, width)
  // One scale for both, to compare them.
  const max = Math.max(...arrived, ...departed)
  const perSecond = SECOND / accepted.width
  const peak = (values: readonly number[]): string => `peak ${formatValue(Math.max(...values) * perSecond)}/s`
  return renderFacts([
    ['arrivals', `${paint('gray', spark(arrived, { width, max }))}  ${peak(arrived)}`],
    ['departures', `${paint('magenta', spark(departed, { width, max }))}  ${peak(departed)}`],
    ['', timeLine(departures, departed.length)],
  ])
}

function timeLine(bins: TimeBins, columns: number): string {
  const start = bins.start / SECOND
  const length = (bins.counts.length * bins.width) / SECOND
  const from = formatMoment(start)
  // In a short part late in a long recording, both ends would have the same text.
  const to = start > length ? `+${formatSeconds(length)}` : formatSeconds(start + length)
  return paint('gray', `${from}${to.padStart(Math.max(0, columns - from.length))}`)
}

function sumOf(a: TimeBins, b: TimeBins): number[] {
  return a.counts.map((count, index) => count + b.counts[index]!)
}

/** Formats the number of arrivals, of keys, and their duration. */
export function arrivalsOf(summary: Summary): string {
  const { arrivals, keys } = summary
  return `${formatCount(arrivals)} of ${formatCount(keys)} ${keys === 1 ? 'key' : 'keys'}${duration(summary)}`
}

function duration({ firstArrivalS, lastArrivalS }: Summary): string {
  if (firstArrivalS === null || lastArrivalS === null) return ''
  return ` in ${formatSeconds(lastArrivalS - firstArrivalS)}`
}

function reasons(rejections: Summary['rejections']): string {
  if (rejections['too-costly'] === 0) return ''
  return `  (${formatCount(rejections.full)} full, ${formatCount(rejections['too-costly'])} too costly)`
}

/** What the jobs that were too costly exceed, where it is a quota. */
function tooCostly({ tooCostlyFor: parts = [] }: Summary): [string, string][] {
  return parts.map(({ part, jobs }, index) => [
    index === 0 ? 'too costly for' : '',
    `${part === 'capacity' ? 'the capacity' : part}: ${formatCount(jobs)} ${jobs === 1 ? 'job' : 'jobs'}`,
  ])
}

function waits({ waitMs: { p50, p90, p99, max } }: Summary): string {
  const shown = (wait: number | null): string => (wait === null ? '-' : formatSeconds(wait / 1_000))
  return `p50 ${shown(p50)}, p90 ${shown(p90)}, p99 ${shown(p99)}, longest ${shown(max)}`
}

/** What kept the first of each line waiting, the longest first. */
function heldBack({ heldBack: parts = [] }: Summary): [string, string][] {
  return parts.map(({ part, jobs, seconds }, index) => [
    index === 0 ? 'held back by' : '',
    `${part}: ${formatCount(jobs)} ${jobs === 1 ? 'job' : 'jobs'}, ${formatSeconds(seconds)} in all`,
  ])
}

function fullest({ fullestBucket }: Summary): string {
  if (fullestBucket === null) return 'no job had to wait'
  const { key, waiting, capacity, atS } = fullestBucket
  return `${key}: ${formatCount(waiting)} of ${formatCount(capacity)} waiting at ${formatMoment(atS)}`
}
