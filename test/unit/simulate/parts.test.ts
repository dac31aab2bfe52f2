import { expect, test } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import type { Arrival } from '../../../src/simulate/arrival.ts'
import { readArrivals } from '../../../src/simulate/read-arrivals.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'

const MINUTE = 60e6

function run(limit: string, arrivals: readonly Arrival[], handlerTime?: number) {
  const simulation = new Simulation(new RuleBook({ '*': limit }), handlerTime)
  const outcomes = arrivals.map((arrival) => simulation.offer(arrival))
  const departures = outcomes.flatMap((outcome) => (outcome.accepted ? [outcome.departsAt] : []))
  return { outcomes, departures, summary: simulation.summary() }
}

const atOnce = (count: number): Arrival[] =>
  Array.from({ length: count }, () => ({ at: 0, key: 'a', cost: 1 }))

test('a quota bounds what departs in any window, and the summary says which part held jobs back', () => {
  const { departures, summary } = run('1000, 10/s, 100/minute', atOnce(250))
  expect(departures).toHaveLength(250)
  for (const [index, at] of departures.entries()) {
    if (index >= 100) expect(at - departures[index - 100]!).toBeGreaterThanOrEqual(MINUTE)
  }
  // At most a sixtieth of the window is lost, twice.
  expect(departures.at(-1)).toBeLessThan(2 * MINUTE + 2e6 + 5e6)
  const held = Object.fromEntries(summary.heldBack!.map(({ part, seconds }) => [part, seconds]))
  expect(Object.keys(held).sort()).toEqual(['100/minute', 'pace'])
  // Each moment at the head of the line is counted once.
  expect(held['pace']! + held['100/minute']!).toBeCloseTo(departures.at(-1)! / 1e6, 5)
})

test('places bound what runs at once, for as long as handlers take', () => {
  const { departures, summary } = run('100, 100/s, 2 at once', atOnce(6), 1e6)
  expect(departures.map((at) => Math.round(at / 1e4) / 100)).toEqual([0, 0.01, 1, 1.01, 2, 2.01])
  expect(summary.heldBack![0]).toMatchObject({ part: '2 at once', jobs: 2 })
  // A place that is still taken is not forgotten when the line is empty.
  const later = run('100, 100/s, 1 at once', [...atOnce(1), { at: 5e6, key: 'a', cost: 1 }], 10e6)
  expect(later.departures).toEqual([0, 10e6])
})

test('jobs count what they name in a unit, and else what the quota says; one above a whole quota is refused', () => {
  const tokens = (count: number): Arrival => ({ at: 0, key: 'a', cost: 1, costs: { tokens: count } })
  const { outcomes, summary } = run('100, 100/s, 1000 tokens/minute 100 each', [
    tokens(900),
    { at: 0, key: 'a', cost: 1 },
    tokens(1),
    tokens(1_001),
    { at: 0, key: 'a', cost: 101 },
    tokens(1_002),
  ])
  const times = outcomes.map((outcome) => (outcome.accepted ? outcome.departsAt >= MINUTE : outcome.reason))
  expect(times).toEqual([false, false, true, 'too-costly', 'too-costly', 'too-costly'])
  expect(summary).toMatchObject({
    rejections: { full: 0, 'too-costly': 3 },
    tooCostlyFor: [
      { part: '1000 tokens/minute', jobs: 2 },
      { part: 'capacity', jobs: 1 },
    ],
  })
})

test('a limit that has only a pace says nothing of parts', () => {
  const { outcomes, summary } = run('10, 1/s', [...atOnce(3), { at: 0, key: 'a', cost: 11 }])
  expect(summary).not.toHaveProperty('heldBack')
  expect(summary).not.toHaveProperty('tooCostlyFor')
  expect(outcomes[2]).toEqual({ accepted: true, position: 2, departsAt: 2e6 })
})

async function read(text: string, units: readonly string[]): Promise<Arrival[]> {
  async function* chunks() {
    yield new TextEncoder().encode(text)
  }
  const all: Arrival[] = []
  for await (const batch of readArrivals('in', chunks(), units)) all.push(...batch)
  return all
}

test('recorded arrivals name their costs in columns, or properties, of the units', async () => {
  const expected = [
    { at: 0, key: 'a', cost: 1, costs: { tokens: 812 } },
    { at: 1e6, key: 'a', cost: 2 },
  ]
  expect(await read('offset_s,key,cost,tokens,note\n0,a,1,812,x\n1,a,2,,y\n', ['tokens'])).toEqual(expected)
  const lines = '{"offset_s":0,"key":"a","tokens":812}\n{"offset_s":1,"key":"a","cost":2}\n'
  expect(await read(lines, ['tokens'])).toEqual(expected)
  await expect(read('offset_s,key,tokens\n0,a,1.5\n', ['tokens'])).rejects.toThrow(
    'expected tokens to be a whole number',
  )
  await expect(read('{"offset_s":0,"key":"a","tokens":"many"}\n', ['tokens'])).rejects.toThrow('"many"')
})
