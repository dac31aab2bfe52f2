import { renderDocument, short, svgText, type Tone } from '../../src/simulate/svg.ts'
import { intervalMs } from '../products/product.ts'
import type { Result } from '../scenarios/scenario.ts'
import { gapsOf } from '../statistics.ts'
import { decimals, medianOf, totalOf } from './figures.ts'

const WIDTH = 1_080
const TOP = 128
const ROW = 74
const PLOT = { left: 226, width: 560, height: 50 }
/** Seconds of the burst that are shown, and the gap at the top of a row, in intervals. */
const SHOWN_MS = 2_000
const TALLEST = 2
const EARLY = 0.75
/** Gaps below this are no gaps, and this many such starts are worth a word. */
const TOGETHER = 0.05
const CROWD = 20

const FIGURES = [
  {
    title: 'smallest',
    unit: 'gap / T',
    x: 852,
    write: (result: Result) => show(medianOf(result, 'smallestGap'), 2),
  },
  {
    title: 'rate',
    unit: 'achieved',
    x: 930,
    write: (result: Result) => show(medianOf(result, 'utilisation'), 3),
  },
  {
    title: 'breaches',
    unit: 'of spacing',
    x: 1_030,
    write: (result: Result) => show(totalOf(result, 'breaches'), 0),
  },
]

/**
 * The first round of each product: every start is a dot, at its moment, as high as the gap before it. An even
 * stream is a straight line at 1; dots at the bottom are handlers that started together.
 */
export function drawSmoothness(results: readonly Result[], machine: string): string {
  const shown = results.filter(({ samples }) => samples.length > 0)
  const [first] = shown
  const { jobs, pace } = first!.trial
  const rate = `${1_000 / intervalMs(pace)}/s`
  const bottom = TOP + shown.length * ROW
  const title = `One burst of ${jobs} jobs, one key, ${rate}`
  const description = shown
    .map(
      (result) => `${result.name}: smallest gap ${show(medianOf(result, 'smallestGap'), 2)} of the interval`,
    )
    .join('; ')
  const body = [
    svgText(32, 42, title, { style: 'title' }),
    svgText(
      32,
      66,
      `Each dot is the start of a handler; its height is the gap since the start before, in intervals of ${intervalMs(pace)} ms.`,
      { style: 'note' },
    ),
    svgText(
      32,
      85,
      'On the line: even. Amber: less than three quarters of the interval. Dots show one round, numbers all of them.',
      { style: 'note' },
    ),
    ...FIGURES.flatMap(({ title: heading, unit, x }) => [
      svgText(x, TOP - 20, heading, { style: 'heading', anchor: 'end' }),
      svgText(x, TOP - 5, unit, { anchor: 'end' }),
    ]),
    ...shown.flatMap((result, index) => drawRow(result, TOP + index * ROW)),
    ...[0, 0.5, 1, 1.5, 2].map((seconds) =>
      svgText(scaleX(seconds * 1_000), bottom + 16, `${seconds} s`, { anchor: 'middle' }),
    ),
    ...wrap(machine, 150).map((line, index) => svgText(32, bottom + 46 + index * 16, line)),
  ]
  return renderDocument({ width: WIDTH, height: bottom + 84, title, description, body })
}

function drawRow(result: Result, top: number): string[] {
  const isOurs = result.name === 'velvet-rope'
  const floor = top + 12 + PLOT.height
  const scaleY = (gap: number) => floor - (Math.min(gap, TALLEST) / TALLEST) * PLOT.height
  const starts = result.samples[0]!.starts ?? []
  const interval = intervalMs(result.trial.pace)
  const dots: Dot[] = gapsOf(starts).map((gap, index) => ({ at: starts[index + 1]!, gap: gap / interval }))
  const within = dots.filter(({ at }) => at <= SHOWN_MS)
  const tone = isOurs ? 'velvet' : 'blue'
  const line = (style: string, gap: number) =>
    `<path class="${style}" d="M${PLOT.left} ${short(scaleY(gap))}h${PLOT.width}"/>`
  return [
    `<rect class="track" x="${PLOT.left}" y="${top + 12}" width="${PLOT.width}" height="${PLOT.height}" rx="3"/>`,
    line('base', 1),
    ...draw(
      within.filter(({ gap }) => gap >= EARLY),
      tone,
      scaleY,
    ),
    ...draw(
      within.filter(({ gap }) => gap < EARLY),
      'amber',
      scaleY,
    ),
    ...countCrowds([{ at: 0, gap: 1 }, ...within], floor),
    svgText(32, top + 34, result.name, { style: 'heading', ...(isOurs && { tone }) }),
    ...wrap(result.setting, 34).map((text, index) => svgText(32, top + 50 + index * 13, text)),
    svgText(PLOT.left - 8, scaleY(1) + 4, '1', { anchor: 'end' }),
    ...FIGURES.map(({ x, write }) =>
      svgText(x, scaleY(1) + 4, write(result), { anchor: 'end', style: 'value', ...(isOurs && { tone }) }),
    ),
  ]
}

interface Dot {
  readonly at: number
  readonly gap: number
}

/** All dots of one colour are one path: lines without length, whose round ends are the dots. */
function draw(dots: readonly Dot[], tone: Tone, scaleY: (gap: number) => number): string[] {
  if (dots.length === 0) return []
  const path = dots.map(({ at, gap }) => `M${short(scaleX(at))} ${short(scaleY(gap))}h0`).join('')
  return [
    `<path class="s-${tone}" stroke-width="3.4" stroke-linecap="round" stroke-opacity="0.75" d="${path}"/>`,
  ]
}

/** Dots that lie on each other look like one, so a crowd is counted. */
function countCrowds(dots: readonly Dot[], floor: number): string[] {
  const crowds: { at: number; size: number }[] = []
  for (const { at, gap } of dots) {
    const crowd = crowds.at(-1)
    if (gap < TOGETHER && crowd !== undefined) crowd.size++
    else crowds.push({ at, size: 1 })
  }
  return crowds
    .filter(({ size }) => size >= CROWD)
    .map(({ at, size }) => svgText(scaleX(at) + 8, floor - 5, `${size} at once`, { tone: 'amber' }))
}

function scaleX(ms: number): number {
  return PLOT.left + (ms / SHOWN_MS) * PLOT.width
}

function show(value: number | undefined, digits: number): string {
  return value === undefined ? '-' : decimals(digits)(value)
}

/** Breaks a text into lines of so many characters, between words. */
function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
