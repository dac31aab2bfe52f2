import { formatValue, valueTicks } from './axis.ts'
import { renderDocument, short, svgText, type Tone, textWidth } from './svg.ts'

export interface Bar {
  readonly label: string
  /** NaN where there is nothing to show: then only `text` is written. */
  readonly value: number
  /** Written after the bar; default: the value. */
  readonly text?: string
  readonly tone?: Tone
}

export interface BarGroup {
  readonly title: string
  /** What the axis counts, such as `smallest gap / interval`. */
  readonly unit: string
  readonly bars: readonly Bar[]
  /** A dashed line: the value that was asked for. */
  readonly mark?: { readonly value: number; readonly label: string }
  /** The right end of the axis; default: the largest value. */
  readonly max?: number
}

export interface BarChart {
  readonly title: string
  readonly notes?: readonly string[]
  readonly groups: readonly BarGroup[]
}

const WIDTH = 960
const MARGIN = 40
const ROW = 28
const BAR = 16

/** Draws one horizontal bar per product, group under group, as one SVG for light and dark. */
export function renderBarChart(chart: BarChart): string {
  const { title, notes = [], groups } = chart
  const labels = groups.flatMap(({ bars }) => bars.map(({ label }) => textWidth(label, 12)))
  const left = MARGIN + Math.max(80, ...labels) + 14
  const body = [svgText(MARGIN, 40, title, { style: 'title' })]
  notes.forEach((note, index) => {
    body.push(svgText(MARGIN, 60 + 20 * index, note, { style: 'note' }))
  })
  let y = 40 + 20 * notes.length
  for (const group of groups) {
    body.push(...renderGroup(group, left, y + 44))
    y += 44 + group.bars.length * ROW + 54
  }
  const description = groups
    .flatMap((group) => [
      group.title,
      ...group.bars.map((bar) => `${bar.label}: ${textOf(bar)} ${group.unit}`),
    ])
    .join('; ')
  return renderDocument({ width: WIDTH, height: y + 10, title, description, body })
}

function renderGroup(group: BarGroup, left: number, top: number): string[] {
  const shown = group.bars.map(({ value }) => value).filter(Number.isFinite)
  const ticks = valueTicks(group.max ?? Math.max(0, ...shown, group.mark?.value ?? 0), 5)
  const max = ticks.at(-1)!.value
  const plot = WIDTH - MARGIN - 70 - left
  const scale = (value: number): number => left + (Math.min(value, max) / max) * plot
  const bottom = top + group.bars.length * ROW + 12
  const parts = [svgText(MARGIN, top - 6, group.title, { style: 'heading' })]
  for (const { value, label } of ticks) {
    const x = short(scale(value))
    parts.push(
      `<path class="${value === 0 ? 'base' : 'grid'}" d="M${x} ${short(top + 6)}V${short(bottom)}"/>`,
    )
    parts.push(svgText(scale(value), bottom + 16, label, { anchor: 'middle' }))
  }
  parts.push(svgText(left + plot, bottom + 32, group.unit, { anchor: 'end', style: 'note' }))
  group.bars.forEach((bar, index) => {
    const middle = top + 12 + index * ROW + ROW / 2
    const end = Number.isFinite(bar.value) ? scale(bar.value) : left
    const tone = bar.tone ?? 'blue'
    parts.push(svgText(left - 14, middle + 4, bar.label, { style: 'value', anchor: 'end' }))
    if (Number.isFinite(bar.value)) {
      parts.push(
        `<rect class="f-${tone}" x="${short(left)}" y="${short(middle - BAR / 2)}" ` +
          `width="${short(Math.max(end - left, 1.5))}" height="${BAR}" rx="3"/>`,
      )
    }
    parts.push(svgText(end + 8, middle + 4, textOf(bar), { style: 'value' }))
  })
  if (group.mark !== undefined) {
    const x = scale(group.mark.value)
    parts.push(`<path class="mark s-velvet" d="M${short(x)} ${short(top)}V${short(bottom)}"/>`)
    parts.push(svgText(x, top - 6, group.mark.label, { anchor: 'middle', tone: 'velvet' }))
  }
  return parts
}

function textOf(bar: Bar): string {
  return bar.text ?? formatValue(bar.value)
}
