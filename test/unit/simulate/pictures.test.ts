import { describe, expect, it } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { timeAxis, valueTicks } from '../../../src/simulate/axis.ts'
import { renderChart } from '../../../src/simulate/chart.ts'
import { Comparison, comparedPolicies } from '../../../src/simulate/comparison.ts'
import { renderComparison } from '../../../src/simulate/comparison-picture.ts'
import { generateArrivals } from '../../../src/simulate/generate-arrivals.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'
import { renderSimulation } from '../../../src/simulate/simulation-picture.ts'
import { ratePoints } from '../../../src/simulate/spread-points.ts'
import { TimeBins } from '../../../src/simulate/time-bins.ts'

/** Fails when the text is not well-formed: every element closed, in order, and nothing but numbers in paths. */
function expectWellFormed(svg: string): void {
  const open: string[] = []
  for (const [, closing, name, attributes] of svg.matchAll(/<(\/?)([a-z]+)([^>]*)>/g)) {
    if (closing === '/') expect(open.pop()).toBe(name)
    else if (!attributes!.endsWith('/')) open.push(name!)
  }
  expect(open).toEqual([])
  expect(svg).not.toMatch(/NaN|Infinity|undefined/)
}

describe('axis', () => {
  it('counts in round steps up to the largest value', () => {
    expect(valueTicks(18).map(({ label }) => label)).toEqual(['0', '5', '10', '15', '20'])
    expect(valueTicks(0).at(-1)!.value).toBeGreaterThan(0)
    expect(valueTicks(0.0035).at(-1)!.value).toBeCloseTo(0.004)
  })

  it.each([
    [0.2, 'time (ms)'],
    [60, 'time (s)'],
    [3_600, 'time (min)'],
    [147_658, 'time (h)'],
    [1e6, 'time (days)'],
  ])('writes %d seconds as %s', (length, label) => {
    const axis = timeAxis(0, length)
    expect(axis.label).toBe(label)
    expect(axis.ticks.length).toBeGreaterThan(3)
    expect(axis.ticks.length).toBeLessThan(22)
  })
})

describe('time bins', () => {
  it('stay few for any duration, and lose nothing', () => {
    const bins = new TimeBins(0, 1_000)
    for (let index = 0; index < 100_000; index++) bins.add(index * 10_000, 1)
    expect(bins.counts.length).toBeLessThanOrEqual(512)
    expect(bins.counts.reduce((sum, count) => sum + count, 0)).toBe(100_000)
  })

  it('show even departures as a flat line', () => {
    const interval = 1e6 / 3
    const bins = new TimeBins(0, interval)
    for (let index = 0; index < 4_096; index++) bins.add(index * interval, 1)
    const rates = ratePoints(bins).slice(0, -1)
    expect(rates.every(([, perSecond]) => Math.abs(perSecond - 3) < 1e-9)).toBe(true)
  })
})

describe('charts', () => {
  it('draw every kind of series, escape text, and follow light and dark', () => {
    const points = [
      [0, 1],
      [1, 3],
      [2, 0],
    ] as const
    const svg = renderChart({
      title: 'a < b & "c"',
      notes: ['one', 'two'],
      panels: (['area', 'step', 'line', 'ticks'] as const).map((kind) => ({
        title: kind,
        unit: 'jobs/s',
        series: [
          { label: kind, tone: 'velvet', kind, points },
          { label: 'empty', tone: 'blue', kind, points: [] },
        ],
        marks: [{ y: 2, label: 'limit', tone: 'velvet' }],
      })),
    })
    expectWellFormed(svg)
    expect(svg).toContain('a &#60; b &#38; &#34;c&#34;')
    expect(svg).toContain('prefers-color-scheme:dark')
    expect(svg).toContain('role="img"')
  })

  it('draw empty data without an error', () => {
    expectWellFormed(renderChart({ title: 'empty', panels: [{ title: 'p', unit: 'u', series: [] }] }))
  })
})

describe('pictures', () => {
  it.each([1, 3])('of a simulation and of a comparison, with %i keys', (keys) => {
    const limits = new RuleBook({ '*': '20, 3/s' })
    const simulation = new Simulation(limits)
    const comparison = new Comparison(limits, comparedPolicies(10))
    for (const batch of generateArrivals({ pattern: 'on-off', seconds: 60, rate: 4, keys, seed: 1 })) {
      for (const arrival of batch) {
        simulation.offer(arrival)
        comparison.offer(arrival)
      }
    }
    const picture = renderSimulation(simulation.spread!, simulation.summary(), limits)
    expectWellFormed(picture)
    expect(picture).toContain(keys === 1 ? 'one key' : '3 keys')
    expect(picture.includes('limit 3/s')).toBe(keys === 1)
    const compared = renderComparison(comparison, limits, keys)!
    expectWellFormed(compared)
    for (const { name } of comparedPolicies(10)) expect(compared).toContain(name)
  })
})
