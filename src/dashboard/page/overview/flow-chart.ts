import uPlot from 'uplot'
import { serverClock } from '../clock.ts'
import type { FlowSample } from '../data/flow-history.ts'
import { chartOptions, type Palette, readPalette, windowFor } from './chart-look.ts'

/** The newest sample starts beyond the right edge and scrolls in, so that lines do not jump. */
const DELAY_MS = 1_500
/** The window moves by about half a pixel in this time. */
const SCROLL_MS = 100
const HEIGHT = 240

/** A scrolling chart of arrivals, departures and refusals. */
export class FlowChart {
  readonly #chart: uPlot
  readonly #host: HTMLElement
  readonly #probe: HTMLElement
  readonly #resize: ResizeObserver
  readonly #timer: number
  #palette: Palette
  #samples: readonly FlowSample[] = []

  /** @param onPoint the sample under the pointer, and how far from the left it is, in pixels */
  constructor(
    host: HTMLElement,
    probe: HTMLElement,
    onPoint: (sample: FlowSample | undefined, left: number) => void,
  ) {
    this.#host = host
    this.#probe = probe
    this.#palette = readPalette(probe)
    const options = chartOptions(() => this.#palette, host.clientWidth, HEIGHT)
    const point = ({ cursor, over }: uPlot) => {
      const { idx, left = -1 } = cursor
      const sample = left < 0 || idx == null ? undefined : this.#samples[idx]
      onPoint(sample, left + over.offsetLeft)
    }
    this.#chart = new uPlot({ ...options, hooks: { setCursor: [point] } }, [[], [], [], []], host)
    this.#resize = new ResizeObserver(() => this.#chart.setSize({ width: host.clientWidth, height: HEIGHT }))
    this.#resize.observe(host)
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches
    this.#timer = window.setInterval(() => this.#scroll(), isStill ? 1_000 : SCROLL_MS)
  }

  show(samples: readonly FlowSample[]): void {
    this.#samples = samples
    const columns: uPlot.AlignedData = [
      samples.map(({ at }) => at),
      samples.map(({ arrivals }) => arrivals),
      samples.map(({ departures }) => departures),
      samples.map(({ refused }) => refused),
    ]
    this.#chart.batch(() => {
      this.#chart.setData(columns, false)
      this.#scroll()
    })
  }

  /** Redraws with the current colours. */
  dress(): void {
    this.#palette = readPalette(this.#probe)
    this.#chart.redraw(true, true)
  }

  end(): void {
    clearInterval(this.#timer)
    this.#resize.disconnect()
    this.#chart.destroy()
  }

  #scroll(): void {
    if (document.visibilityState === 'hidden' || this.#host.clientWidth === 0) return
    const max = serverClock.now() - DELAY_MS
    const known = max - (this.#samples[0]?.at ?? max)
    this.#chart.setScale('x', { min: max - windowFor(known), max })
  }
}
