import { SECOND } from '../core/duration.ts'
import { formatRate } from '../core/rate.ts'
import { NANOSECOND } from './arrival.ts'
import { formatValue } from './axis.ts'
import { type Panel, type Point, renderChart, type Series } from './chart.ts'
import type { FamilyBook } from './family-book.ts'
import { byArrivals, type CountedChild, type CountedTotal } from './family-summary.ts'
import { peakOf } from './spread-points.ts'
import type { Tone } from './svg.ts'

/** About so many columns; each holds the same number of starts of a busy family. */
const COLUMNS = 80
/** Arrivals beyond so many times the rate are cut off: a flood would flatten all others. */
const HIGHEST = 3

/** The jobs of the child with most arrivals, and those of all others. Microseconds. */
interface Sides {
  readonly name: string
  readonly flood: Jobs
  readonly others: Jobs
  readonly rejected: number
}

type Jobs = Pick<CountedChild, 'arrivedAt' | 'waits' | 'costs'>

/**
 * Draws the largest family with one line and shared: who starts when, and how long all but its largest child wait.
 *
 * @returns undefined where no job below a total started
 */
export function renderShares(oneLine: FamilyBook, shared: FamilyBook): string | undefined {
  const { largest } = shared
  if (largest === undefined || oneLine.largest === undefined) return undefined
  const [first] = byArrivals(largest.children)
  if (first === undefined) return undefined
  const [fifo, fair] = [sidesOf(oneLine.largest, first.name), sidesOf(largest, first.name)]
  if ([fifo, fair].every(({ flood, others }) => flood.waits.length + others.waits.length === 0))
    return undefined
  const grid = gridOf(largest.limit.interval, [fifo, fair])
  const rate = SECOND / largest.limit.interval
  // The limit counts units.
  const isPlain = [fair, fifo].every(({ flood, others }) =>
    [flood, others].every(({ costs }) => costs.every((cost) => cost === 1)),
  )
  const unit = isPlain ? 'jobs/s' : 'cost units/s'
  const mark = { y: rate, label: `limit ${formatRate(largest.limit.rate)}`, tone: 'velvet' as const }
  const startPanel = (title: string, sides: Sides): Panel => ({
    title,
    unit,
    series: stack(sides, grid, startsOf),
    marks: [mark],
    note: sides.rejected === 0 ? undefined : `${sides.rejected.toLocaleString('en')} rejected`,
    height: 90,
    // Room for the label of the limit.
    max: 1.1 * rate,
  })
  const arrived = fair.flood.arrivedAt.length + fair.others.arrivedAt.length
  const highest = HIGHEST * rate
  const arrivals = stack(fair, grid, ({ arrivedAt }) => arrivedAt)
  const peak = peakOf(arrivals[0]!.points)
  const waits = (label: string, tone: Tone, jobs: Jobs): Series => {
    const points = longestWaits(jobs, grid)
    return { label: `${label}, up to ${Number(peakOf(points).toPrecision(3))} s`, tone, kind: 'area', points }
  }
  return renderChart({
    title: 'A flood, with one line for all and shared fairly',
    notes: [
      `The same ${arrived.toLocaleString('en')} jobs below ${largest.path}, which starts ${formatRate(largest.limit.rate)}. ` +
        `${first.name} sends ${fair.flood.arrivedAt.length.toLocaleString('en')} of them.`,
    ],
    panels: [
      {
        title: fair.rejected === 0 ? 'Arrivals' : 'Arrivals that are accepted when shared',
        unit,
        series: arrivals,
        max: Math.min(peak, highest),
        note: peak > highest ? `cut off: up to ${formatValue(peak)}/s` : undefined,
        height: 70,
      },
      startPanel('Starts with one line', fifo),
      startPanel('Starts, shared', fair),
      {
        title: 'How long the others wait',
        unit: 's',
        series: [waits('one line', 'slate', fifo.others), waits('shared', 'velvet', fair.others)],
        height: 110,
      },
    ],
  })
}

function sidesOf({ children }: CountedTotal, name: string): Sides {
  const all = [...children]
  return {
    name,
    flood: together(all.filter((child) => child.name === name)),
    others: together(all.filter((child) => child.name !== name)),
    rejected: all.reduce((sum, { rejected }) => sum + rejected, 0),
  }
}

function together(children: readonly CountedChild[]): Jobs {
  return {
    arrivedAt: children.flatMap(({ arrivedAt }) => arrivedAt),
    waits: children.flatMap(({ waits }) => waits),
    costs: children.flatMap(({ costs }) => costs),
  }
}

function startsOf({ arrivedAt, waits }: Jobs): number[] {
  return arrivedAt.map((at, index) => at + waits[index]!)
}

interface Grid {
  readonly from: number
  readonly width: number
  readonly count: number
}

function gridOf(interval: number, both: readonly Sides[]): Grid {
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const { flood, others } of both) {
    for (const jobs of [flood, others]) {
      for (const at of jobs.arrivedAt) from = Math.min(from, at)
      for (const at of startsOf(jobs)) to = Math.max(to, at)
    }
  }
  const width = Math.max(1, Math.ceil((to - from) / COLUMNS / interval)) * interval
  return { from, width, count: Math.floor((to - from) / width) + 1 }
}

/** The flood above the others. */
function stack(
  { name, flood, others }: Sides,
  grid: Grid,
  timesOf: (jobs: Jobs) => readonly number[],
): Series[] {
  const below = unitsIn(timesOf(others), others.costs, grid)
  const above = unitsIn(timesOf(flood), flood.costs, grid).map((units, index) => units + below[index]!)
  const perSecond = grid.width / SECOND
  const points = (units: readonly number[]) => pointsOf(units, grid, (count) => count / perSecond)
  const base = points(below)
  return [
    { label: name, tone: 'amber', kind: 'area', points: points(above), base },
    { label: 'the others', tone: 'blue', kind: 'area', points: base },
  ]
}

function unitsIn(times: readonly number[], costs: readonly number[], grid: Grid): number[] {
  const units = new Array<number>(grid.count).fill(0)
  for (const [index, time] of times.entries()) units[columnOf(time, grid)]! += costs[index]!
  return units
}

/** By the time of arrival, in seconds. */
function longestWaits({ arrivedAt, waits }: Jobs, grid: Grid): Point[] {
  const longest = new Array<number>(grid.count).fill(0)
  for (const [index, at] of arrivedAt.entries()) {
    const column = columnOf(at, grid)
    longest[column] = Math.max(longest[column]!, waits[index]!)
  }
  return pointsOf(longest, grid, (wait) => wait / SECOND)
}

function columnOf(time: number, { from, width, count }: Grid): number {
  return Math.min(count - 1, Math.floor((time - from + NANOSECOND) / width))
}

function pointsOf(values: readonly number[], { from, width }: Grid, of: (value: number) => number): Point[] {
  const points = values.map((value, index): Point => [(from + index * width) / SECOND, of(value)])
  return [...points, [(from + values.length * width) / SECOND, 0]]
}
