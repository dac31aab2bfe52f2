import { formatValue, type Tick, timeAxis, valueTicks } from './axis.ts'
import { renderDocument, short, svgText, type Tone, textWidth } from './svg.ts'

/** A point of a series: time in seconds, value in the unit of its panel. */
export type Point = readonly [x: number, y: number]

export interface Series {
  readonly label: string
  readonly tone: Tone
  /**
   * `area`: each value holds from its point to the next, filled down to the axis. `step`: the same without filling.
   * `line`: straight from point to point. `ticks`: one thin stroke per point.
   */
  readonly kind: 'area' | 'step' | 'line' | 'ticks'
  readonly points: readonly Point[]
  /** Of an `area`: it is filled down to these instead, the values of another series at the same times. */
  readonly base?: readonly Point[]
}

/** One of several charts above each other with a common time axis. */
export interface Panel {
  readonly title: string
  /** What the vertical axis counts, such as `jobs/s`. */
  readonly unit: string
  readonly series: readonly Series[]
  /** Dashed horizontal lines, such as a limit. */
  readonly marks?: readonly Mark[]
  /** The top of the axis, to give several panels the same scale. Default: the largest value. */
  readonly max?: number
  /** Height in pixels. Default: 130. */
  readonly height?: number
  /** Text at the right end of the title line. */
  readonly note?: string
}

export interface Mark {
  readonly y: number
  readonly label?: string
  readonly tone: Tone
}

export interface Chart {
  readonly title: string
  /** Lines of text below the title. */
  readonly notes?: readonly string[]
  /** Seconds shown. Default: all. */
  readonly from?: number
  readonly to?: number
  readonly panels: readonly Panel[]
}

const WIDTH = 960
const LEFT = 66
const RIGHT = 28
const PLOT = WIDTH - LEFT - RIGHT
const PANEL_HEIGHT = 130
const HEADING = 38
const GAP = 16

/** Draws series over time, panel above panel, as one SVG for light and dark. */
export function renderChart(chart: Chart): string {
  const { title, notes = [], panels } = chart
  const [from, to] = timeRange(chart)
  const axis = timeAxis(from, to)
  const scaleX = (x: number): number => LEFT + ((x - from) / (to - from)) * PLOT
  const body = [svgText(LEFT, 40, title, { style: 'title' })]
  notes.forEach((note, index) => {
    body.push(svgText(LEFT, 60 + 20 * index, note, { style: 'note' }))
  })
  let y = 40 + 20 * notes.length
  for (const panel of panels) {
    y += GAP + HEADING
    body.push(...renderPanel(panel, y, scaleX, axis.ticks))
    y += panel.height ?? PANEL_HEIGHT
  }
  for (const { value, label } of axis.ticks) {
    body.push(svgText(scaleX(value), y + 18, label, { anchor: 'middle' }))
  }
  body.push(svgText(LEFT + PLOT / 2, y + 38, axis.label, { anchor: 'middle', style: 'note' }))
  const description = panels.map((panel) => `${panel.title} (${panel.unit})`).join('; ')
  return renderDocument({ width: WIDTH, height: y + 54, title, description, body })
}

function timeRange(chart: Chart): [number, number] {
  const times = chart.panels.flatMap(({ series }) =>
    series.flatMap(({ points }) => [points[0]?.[0] ?? Number.NaN, points.at(-1)?.[0] ?? Number.NaN]),
  )
  const known = times.filter(Number.isFinite)
  const first = known.length === 0 ? 0 : Math.min(...known)
  const to = chart.to ?? (known.length === 0 ? 1 : Math.max(...known))
  // An axis that nearly starts at zero reads better when it does.
  const from = chart.from ?? (first > 0 && first < to / 10 ? 0 : first)
  return to > from ? [from, to] : [from, from + 1]
}

function renderPanel(
  panel: Panel,
  top: number,
  scaleX: (x: number) => number,
  times: readonly Tick[],
): string[] {
  const height = panel.height ?? PANEL_HEIGHT
  const ticks = valueTicks(panel.max ?? largest(panel), height < 90 ? 3 : 4)
  const max = ticks.at(-1)!.value
  const bottom = top + height
  const scaleY = (y: number): number => bottom - (Math.min(y, max) / max) * height
  const parts = [svgText(LEFT, top - 13, panel.title, { style: 'heading' })]
  parts.push(svgText(LEFT - 10, top - 13, panel.unit, { anchor: 'end' }))
  for (const { value } of times) parts.push(segment('grid', scaleX(value), top, scaleX(value), bottom))
  for (const { value, label } of ticks) {
    const y = scaleY(value)
    if (value !== 0) parts.push(segment('grid', LEFT, y, LEFT + PLOT, y))
    parts.push(svgText(LEFT - 10, y + 4, label, { anchor: 'end' }))
  }
  for (const series of panel.series) parts.push(...renderSeries(series, scaleX, scaleY, bottom))
  // On top, so that a series at 0 does not paint the axis in its colour.
  parts.push(segment('base', LEFT, bottom, LEFT + PLOT, bottom))
  for (const { y, label, tone } of panel.marks ?? []) {
    parts.push(segment(`mark s-${tone}`, LEFT, scaleY(y), LEFT + PLOT, scaleY(y)))
    if (label !== undefined)
      parts.push(svgText(LEFT + PLOT - 4, scaleY(y) - 5, label, { anchor: 'end', tone }))
  }
  parts.push(...renderLegend(panel, top - 13))
  return parts
}

/** From the right end of the title line: the note, or one swatch per series when there are several. */
function renderLegend(panel: Panel, y: number): string[] {
  const parts: string[] = []
  let x = LEFT + PLOT
  if (panel.note !== undefined) {
    parts.push(svgText(x, y, panel.note, { anchor: 'end' }))
    x -= textWidth(panel.note, 11) + 20
  }
  if (panel.series.length < 2) return parts
  for (const { label, tone } of [...panel.series].reverse()) {
    x -= textWidth(label, 11)
    parts.push(svgText(x, y, label))
    x -= 16
    parts.push(`<rect class="f-${tone}" x="${short(x)}" y="${short(y - 9)}" width="10" height="10" rx="2"/>`)
    x -= 16
  }
  return parts
}

function renderSeries(
  series: Series,
  scaleX: (x: number) => number,
  scaleY: (y: number) => number,
  bottom: number,
): string[] {
  const { kind, tone, points, base } = series
  if (points.length === 0) return []
  if (kind === 'ticks') {
    const strokes = points.map(([x, y]) => `M${short(scaleX(x))} ${short(bottom)}V${short(scaleY(y))}`)
    return [`<path class="tickline s-${tone}" d="${strokes.join('')}"/>`]
  }
  const path = kind === 'line' ? straight(points, scaleX, scaleY) : stepped(points, scaleX, scaleY)
  const line = `<path class="line s-${tone}" d="M${path}"/>`
  if (kind !== 'area') return [line]
  const [first, last] = [scaleX(points[0]![0]), scaleX(points.at(-1)![0])]
  const fill =
    base === undefined
      ? `M${short(first)} ${short(bottom)}L${path}L${short(last)} ${short(bottom)}Z`
      : `M${[...corners(points), ...corners(base).reverse()].map(([x, y]) => `${short(scaleX(x))} ${short(scaleY(y))}`).join('L')}Z`
  return [`<path class="area f-${tone}" d="${fill}"/>`, line]
}

function straight(
  points: readonly Point[],
  scaleX: (x: number) => number,
  scaleY: (y: number) => number,
): string {
  return points.map(([x, y]) => `${short(scaleX(x))} ${short(scaleY(y))}`).join('L')
}

/** A value holds until the next point; only its changes are written. */
function stepped(
  points: readonly Point[],
  scaleX: (x: number) => number,
  scaleY: (y: number) => number,
): string {
  const [firstX, firstY] = points[0]!
  let path = `${short(scaleX(firstX))} ${short(scaleY(firstY))}`
  let held = firstY
  for (const [x, y] of points.slice(1, -1)) {
    if (y === held) continue
    path += `H${short(scaleX(x))}V${short(scaleY(y))}`
    held = y
  }
  return `${path}H${short(scaleX(points.at(-1)![0]))}`
}

/** Where a line turns that holds each value until the next point. */
function corners(points: readonly Point[]): Point[] {
  return points.flatMap(([x, y], index): Point[] => {
    const held = points[index - 1]?.[1] ?? y
    const isEnd = index === 0 || index === points.length - 1
    if (isEnd) return [[x, held]]
    return held === y
      ? []
      : [
          [x, held],
          [x, y],
        ]
  })
}

function largest(panel: Panel): number {
  let max = 0
  for (const { points } of panel.series) for (const [, y] of points) max = Math.max(max, y)
  for (const { y } of panel.marks ?? []) max = Math.max(max, y)
  return Number(formatValue(max).replaceAll(',', ''))
}

function segment(style: string, x1: number, y1: number, x2: number, y2: number): string {
  return `<path class="${style}" d="M${short(x1)} ${short(y1)}L${short(x2)} ${short(y2)}"/>`
}
