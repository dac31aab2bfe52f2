import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type FlowSample, rangeOf } from '../data/flow-history.ts'
import { formatClock, formatRate } from '../data/format.ts'
import { flow, flowTicks } from '../data/live.ts'
import { looks } from '../data/theme.ts'
import { useStore } from '../parts/hooks.ts'
import { FlowChart } from './flow-chart.ts'

const LINES = [
  { field: 'arrivals', name: 'Arrivals', says: 'all enqueued jobs, accepted or refused' },
  { field: 'departures', name: 'Departures', says: 'handlers started' },
  {
    field: 'refused',
    name: 'Refused',
    says: 'refused by the line in all processes, and by local limits of the process that serves this page',
  },
] as const
/** Ticks between two updates of the chart's text for screen readers. */
const WORDS_EVERY = 10

/** The chart of arrivals and departures. */
export function FlowCard() {
  const ticks = useStore(flowTicks)
  const theme = useStore(looks)
  const host = useRef<HTMLDivElement>(null)
  const probe = useRef<HTMLSpanElement>(null)
  const chart = useRef<FlowChart>(undefined)
  const [pointed, setPointed] = useState<{ readonly sample: FlowSample; readonly left: number }>()
  useLayoutEffect(() => {
    const made = new FlowChart(host.current!, probe.current!, (sample, left) =>
      setPointed(sample && { sample, left }),
    )
    chart.current = made
    return () => made.end()
  }, [])
  useEffect(() => chart.current!.show(flow.samples), [ticks])
  useEffect(() => chart.current!.dress(), [theme])
  const latest = flow.latest()
  return (
    <section class="card flow" aria-labelledby="flow-title">
      <header class="flow-head">
        <h2 id="flow-title" class="sr-only">
          Arrivals and departures
        </h2>
        {LINES.map(({ field, name, says }) => (
          <div key={field} class={`rate is-${field}`} title={`${name}: ${says}`}>
            <span class="rate-name">
              <span class="rate-line" aria-hidden="true" />
              {name}
            </span>
            <span class="rate-number">
              {rateText(latest?.[field])}
              <span class="unit">/s</span>
            </span>
          </div>
        ))}
      </header>
      <figure class="flow-figure">
        <div ref={host} class="flow-chart" aria-hidden="true" />
        <span ref={probe} class="probe" aria-hidden="true" />
        {pointed !== undefined && <Pointed {...pointed} width={host.current?.clientWidth ?? 0} />}
        {latest === undefined && <p class="flow-empty">Waiting for two seconds of data.</p>}
        <figcaption class="sr-only">{inWords(Math.floor(ticks / WORDS_EVERY))}</figcaption>
      </figure>
    </section>
  )
}

interface PointedProps {
  readonly sample: FlowSample
  readonly left: number
  readonly width: number
}

function Pointed({ sample, left, width }: PointedProps) {
  const isRight = left > width / 2
  const shift = isRight ? `translateX(calc(${left}px - 100% - 12px))` : `translateX(${left + 12}px)`
  return (
    <div class="pointed" style={{ transform: shift }} aria-hidden="true">
      <p class="pointed-at">{formatClock(sample.at)}</p>
      {LINES.map(({ field, name }) => (
        <p key={field} class={`is-${field}`}>
          <span class="rate-line" />
          <span>{name}</span>
          <b>{rateText(sample[field])}/s</b>
        </p>
      ))}
    </div>
  )
}

function rateText(rate: number | null | undefined): string {
  return rate == null ? '–' : formatRate(rate)
}

let words = { round: -1, text: '' }

function inWords(round: number): string {
  if (words.round === round) return words.text
  const parts = LINES.map(({ field, name }) => {
    const range = rangeOf(flow.samples.map((sample) => sample[field]))
    if (range === undefined) return `${name}: no data yet.`
    const { least, most, mean } = range
    return `${name}: between ${formatRate(least)} and ${formatRate(most)} per second, ${formatRate(mean)} on average.`
  })
  words = { round, text: `The last minutes. ${parts.join(' ')}` }
  return words.text
}
