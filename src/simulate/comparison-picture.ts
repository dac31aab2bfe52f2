import { formatLimit } from '../core/limit-format.ts'
import type { RuleBook } from '../core/rule-book.ts'
import { renderChart } from './chart.ts'
import type { Comparison, PolicyResult } from './comparison.ts'
import { rateMark } from './simulation-picture.ts'
import { alignBins, peakOf, ratePoints } from './spread-points.ts'

/** The arrivals, and below them the starts under each policy, all on one scale. */
export function renderComparison(comparison: Comparison, limits: RuleBook, keys: number): string | undefined {
  const spread = comparison.spread()
  if (spread === undefined) return undefined
  const { arrivals, starts } = spread
  alignBins([arrivals, ...starts])
  const results = comparison.results()
  const startPoints = starts.map(ratePoints)
  const rules = limits.list()
  const limit =
    rules.length === 1 ? `the limit ${formatLimit(rules[0]!.limit)} for each key` : `${rules.length} limits`
  const isOneLine = rules.length === 1 && keys === 1
  const marks = isOneLine ? [rateMark(rules[0]!.limit)] : []
  const max = Math.max(...marks.map(({ y }) => y), ...startPoints.map(peakOf))
  return renderChart({
    title: 'The same arrivals under six policies',
    notes: [
      `Jobs per second as they arrived, and as each policy let them start, under ${limit}.`,
      'The policies share one scale. All but the last either start a job at once or turn it away.',
      ...leftOutNote(comparison),
    ],
    panels: [
      {
        title: 'Arrivals',
        unit: 'jobs/s',
        series: [{ label: 'arrivals', tone: 'slate', kind: 'area', points: ratePoints(arrivals) }],
        height: 90,
      },
      ...results.map((result, index) => ({
        title: result.policy,
        unit: 'jobs/s',
        series: [
          {
            label: result.policy,
            tone: index === results.length - 1 ? ('velvet' as const) : ('blue' as const),
            kind: 'area' as const,
            points: startPoints[index]!,
          },
        ],
        max,
        // One label for all.
        marks: index === results.length - 1 ? marks : marks.map(({ y, tone }) => ({ y, tone })),
        height: 70,
        note: summarize(result),
      })),
    ],
  })
}

/** What the other policies do not count, as a sentence, if there is something. */
export function leftOutNote({ leftOut }: Comparison): string[] {
  return leftOut.length === 0 ? [] : [`Only velvet-rope counts ${leftOut.join(' and ')}.`]
}

function summarize(result: PolicyResult): string {
  const gap = result.smallestGapByInterval
  const closest = gap === null ? '' : `, closest starts ${gap.toFixed(3)} of the interval apart`
  return (
    `${result.accepted.toLocaleString('en')} let through, ${result.rejected.toLocaleString('en')} rejected, ` +
    `at most ${result.mostStartsInOneSecond} in any 1 s${closest}`
  )
}
