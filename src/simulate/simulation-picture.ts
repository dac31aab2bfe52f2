import { SECOND } from '../core/duration.ts'
import type { Limit } from '../core/limit.ts'
import { formatLimit } from '../core/limit-format.ts'
import { formatRate } from '../core/rate.ts'
import type { RuleBook } from '../core/rule-book.ts'
import { formatValue } from './axis.ts'
import { type Mark, type Panel, renderChart } from './chart.ts'
import type { Spread } from './simulation.ts'
import { alignBins, betweenPoints, peakOf, ratePoints, sumPoints } from './spread-points.ts'
import type { Summary } from './summary.ts'

/** Departures use the scale of the arrivals, unless less than this share of it would be visible. */
const FLATTEST = 10

/** Arrivals above, departures below, and the waiting jobs between them. */
export function renderSimulation(spread: Spread, summary: Summary, limits: RuleBook): string {
  const { accepted, rejected, departures } = spread
  alignBins([accepted, rejected, departures])
  const rules = limits.list()
  const arrived = sumPoints(ratePoints(accepted), ratePoints(rejected))
  const departed = ratePoints(departures)
  const isOneScale = peakOf(arrived) <= FLATTEST * peakOf(departed)
  const panels: Panel[] = [
    {
      title: 'Arrivals',
      unit: 'jobs/s',
      series: [
        { label: 'arrivals', tone: 'slate', kind: 'area', points: arrived },
        { label: 'of these rejected', tone: 'amber', kind: 'area', points: ratePoints(rejected) },
      ],
      note: `${count(summary.accepted)} accepted, ${count(summary.rejected)} rejected`,
    },
    {
      title: 'Waiting jobs',
      unit: 'jobs',
      series: [
        { label: 'waiting', tone: 'violet', kind: 'area', points: betweenPoints(accepted, departures) },
      ],
      height: 90,
      note:
        summary.waitMs.max === null ? undefined : `longest wait ${formatValue(summary.waitMs.max / 1_000)} s`,
    },
    {
      title: 'Departures',
      unit: 'jobs/s',
      series: [{ label: 'departures', tone: 'velvet', kind: 'area', points: departed }],
      max: isOneScale ? peakOf(arrived) : undefined,
      marks: summary.keys === 1 && rules.length === 1 ? [rateMark(rules[0]!.limit)] : [],
    },
  ]
  const rule =
    rules.length === 1 ? `limit ${formatLimit(rules[0]!.limit)} for each key` : `${rules.length} limits`
  const keys = summary.keys === 1 ? 'one key' : `${count(summary.keys)} keys`
  return renderChart({
    title: 'Bursts in, an even stream out',
    notes: [
      `${count(summary.arrivals)} arrivals of ${keys}, ${rule}. ` +
        `Arrivals and departures are drawn on ${isOneScale ? 'one scale' : 'different scales'}.`,
    ],
    panels,
  })
}

/** The rate of a limit as a line across a panel of jobs per second. */
export function rateMark({ rate, interval }: Limit): Mark {
  return { y: SECOND / interval, label: `limit ${formatRate(rate)}`, tone: 'velvet' }
}

function count(value: number): string {
  return value.toLocaleString('en')
}
