import type uPlot from 'uplot'
import { formatRate } from '../data/format.ts'

/** The time window of the chart: it grows with the data. */
const NARROWEST_MS = 60_000
const WIDEST_MS = 180_000
const NARROW = 520

/** The colours of the page, resolved for a canvas. */
export interface Palette {
  readonly arrivals: string
  readonly arrivalsFill: string
  readonly departures: string
  readonly refused: string
  readonly text: string
  readonly grid: string
  readonly font: string
}

/** Reads the colours from the styles through a probe element, which resolves light and dark. */
export function readPalette(probe: HTMLElement): Palette {
  const colour = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  return {
    arrivals: colour('--arrivals'),
    arrivalsFill: colour('--arrivals-fill'),
    departures: colour('--departures'),
    refused: colour('--refused'),
    text: colour('--text-soft'),
    grid: colour('--grid'),
    font: `12px ${getComputedStyle(probe).fontFamily}`,
  }
}

/** The options of the chart. `palette` is called at each drawing, since it changes with the theme. */
export function chartOptions(palette: () => Palette, width: number, height: number): uPlot.Options {
  const axis = { stroke: () => palette().text, font: palette().font, ticks: { show: false } }
  const grid = { stroke: () => palette().grid, width: 1 }
  return {
    width,
    height,
    ms: 1,
    // The window moves by fractions of a pixel.
    pxAlign: 0,
    padding: [10, 20, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false, setScale: false },
      points: { size: 8, width: 2 },
    },
    scales: {
      x: { time: false, auto: false },
      y: { range: (_, __, most) => [0, roundUp((most ?? 0) * 1.08)] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        gap: 8,
        grid: { show: false },
        splits: ({ width: wide, scales }) => momentsOf(scales['x']!, wide < NARROW),
        values: ({ scales }, splits) => splits.map((at) => momentText((scales['x']!.max ?? 0) - at)),
      },
      {
        ...axis,
        size: 48,
        gap: 8,
        grid,
        space: 44,
        values: (_, splits) => splits.map(rateText),
      },
    ],
    series: [
      {},
      line(() => palette().arrivals, 1.5, { fill: () => palette().arrivalsFill }),
      line(() => palette().departures, 3),
      line(() => palette().refused, 1.25, { dash: [3, 4] }),
    ],
  }
}

function line(stroke: () => string, width: number, more: Partial<uPlot.Series> = {}): uPlot.Series {
  return { stroke, width, points: { show: false }, spanGaps: false, pxAlign: 0, ...more }
}

/** The time window for this much data. */
export function windowFor(knownMs: number): number {
  return Math.min(WIDEST_MS, Math.max(NARROWEST_MS, knownMs))
}

/** Axis marks at fixed distances from the right edge: the lines move, the marks do not. */
function momentsOf({ min = 0, max = 0 }: uPlot.Scale, isNarrow: boolean): number[] {
  const step = (max - min > 90_000 ? 30_000 : 10_000) * (isNarrow ? 2 : 1)
  // No mark at the very left, where it would overlap the axis.
  const count = Math.floor((max - min) / step - 0.15) + 1
  return Array.from({ length: count }, (_, index) => max - (count - 1 - index) * step)
}

function rateText(rate: number): string {
  return rate < 10_000 ? formatRate(rate).replace(/\.0$/, '') : `${rate / 1_000}k`
}

function momentText(ago: number): string {
  const seconds = Math.round(ago / 1_000)
  if (seconds === 0) return 'now'
  return `−${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten. */
function roundUp(most: number): number {
  if (most <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return power * ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => most <= step * power) ?? 10)
}
