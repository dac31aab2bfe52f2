import { describe, expect, it } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { NoLimitError } from '../../../src/core/errors.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import { Shaper } from '../../../src/shaper/shaper.ts'
import type { Arrival } from '../../../src/simulate/arrival.ts'
import { FamilySimulation } from '../../../src/simulate/family-simulation.ts'
import type { Outcome } from '../../../src/simulate/key-line.ts'
import { seededRandom } from '../../../src/simulate/random.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'
import { recordHistory } from '../../../src/testing/record-history.ts'

interface Told {
  readonly arrival: Arrival
  readonly outcome: Outcome
}

function at(seconds: number, key: string, cost = 1): Arrival {
  return { at: seconds * 1e6, key, cost }
}

function simulate(limits: Record<string, string>, arrivals: readonly Arrival[], handlerTime = 0) {
  const told: Told[] = []
  const simulation = new FamilySimulation(new RuleBook(limits), handlerTime, (arrival, outcome) => {
    told.push({ arrival, outcome })
  })
  for (const arrival of arrivals) simulation.offer(arrival)
  simulation.finish()
  return { simulation, told, summary: simulation.summary() }
}

function startsOf(told: readonly Told[]): [number, string][] {
  return told
    .flatMap(({ arrival, outcome }): [number, string][] =>
      outcome.accepted ? [[outcome.departsAt / 1e6, arrival.key]] : [],
    )
    .sort(([one], [other]) => one - other)
}

/** The same arrivals through a shaper, on a clock that moves as the test says. */
async function shape(limits: Record<string, string>, arrivals: readonly Arrival[], handlerTime: number) {
  const clock = new VirtualClock()
  const shaper = new Shaper('families', { limits, clock })
  const recording = recordHistory(shaper, clock)
  const answers: boolean[] = []
  const handler = async () => {
    if (handlerTime > 0) await clock.sleep(handlerTime)
  }
  shaper.work(handler, { concurrency: 10_000 })
  for (const { at, key, cost } of arrivals) {
    await clock.advanceTo(at)
    answers.push((await shaper.enqueue(key, null, { cost })).accepted)
  }
  await clock.advance(3_600e6)
  await shaper.close()
  return { history: recording.history, answers }
}

function startsIn(history: readonly HistoryEvent[]): [number, string][] {
  return history.flatMap((event): [number, string][] =>
    event.type === 'start' ? [[event.at / 1e6, event.key]] : [],
  )
}

const FAMILY = { '*': '50, 5/s', 'a/vip': '50, 5/s, weight 3', 'a/': '100, 5/s' }
const NESTED = {
  '*': '20, 4/s',
  'a/eu/*': '20, 4/s, 2 at once',
  'a/eu/': '60, 4/s, weight 2, 30/minute',
  'a/': '90, 6/s, 8 at once',
}

describe('a simulation with totals', () => {
  it.each([
    ['one total', FAMILY, 0],
    ['totals with quotas and places', NESTED, 700_000],
  ])('starts and refuses what a shaper does, at the same times: %s', async (_, limits, handlerTime) => {
    const random = seededRandom(7)
    const keys = ['a/1', 'a/2', 'a/vip', 'a/eu/1', 'a/eu/2', 'a', 'b']
    let time = 0
    const arrivals = Array.from({ length: 600 }, () => {
      time += Math.round(random() * 200_000)
      const key = random() < 0.5 ? 'a/1' : keys[Math.floor(random() * keys.length)]!
      return { at: time, key, cost: random() < 0.1 ? 3 : 1 }
    })
    const { told, summary } = simulate(limits, arrivals, handlerTime)
    const { history, answers } = await shape(limits, arrivals, handlerTime)
    expect(told.map(({ arrival }) => arrival)).toEqual(arrivals)
    expect(told.map(({ outcome }) => outcome.accepted)).toEqual(answers)
    const [ours, theirs] = [startsOf(told), startsIn(history)]
    expect(ours.map(([, key]) => key)).toEqual(theirs.map(([, key]) => key))
    for (const [index, [seconds]] of ours.entries()) expect(seconds).toBeCloseTo(theirs[index]![0], 6)
    expect(checkHistory(history)).toEqual([])
    expect(summary.rejected).toBeGreaterThan(0)
    expect(summary.totals![0]).toMatchObject({
      path: 'a/',
      arrivals: arrivals.filter(({ key }) => key !== 'b').length,
    })
  })

  it('says of each total what it used, and what each child got while it had work', () => {
    const flood = Array.from({ length: 60 }, () => at(0, 'a/flood'))
    const vip = Array.from({ length: 30 }, () => at(1, 'a/vip'))
    const { summary, told } = simulate(FAMILY, [...flood, ...vip, at(2, 'a/late')])
    const [total] = summary.totals!
    expect(total).toMatchObject({
      path: 'a/',
      pattern: 'a/',
      limit: '100, 5/s',
      arrivals: 91,
      accepted: 82,
      rejected: 9,
      rejectedByIt: 0,
      capacity: 100,
      others: null,
    })
    expect(total!.utilisation).toBeCloseTo(1, 9)
    expect(total!.children.map(({ child, weight, arrivals }) => [child, weight, arrivals])).toEqual([
      ['a/flood', 1, 60],
      ['a/vip', 3, 30],
      ['a/late', 1, 1],
    ])
    // While it waited, beside the flood: three of four starts, but for a round that is not over.
    const [, vips, late] = total!.children
    expect(vips!.share).toBeGreaterThan(0.7)
    expect(vips!.share).toBeLessThan(0.8)
    expect(late!.waitMs.max).toBeLessThanOrEqual(1_200)
    // One after another, in the order of the whole family.
    const starts = startsOf(told).map(([seconds]) => seconds)
    for (const [index, seconds] of starts.entries()) expect(seconds).toBeCloseTo(index / 5, 9)
  })

  it('measures what the pace of a total did not use while its children were held back', () => {
    const arrivals = Array.from({ length: 11 }, () => at(0, 'a/1'))
    const { summary } = simulate({ '*': '50, 1/s', 'a/': '100, 2/s' }, arrivals)
    // Ten starts of half a second each are used, in ten seconds.
    expect(summary.totals![0]!.utilisation).toBeCloseTo(0.5, 9)
    const alone = simulate({ '*': '50, 1/s', 'a/': '100, 2/s' }, [at(0, 'a/1')])
    expect(alone.summary.totals![0]!.utilisation).toBeNull()
    expect(alone.summary.fullestBucket).toBeNull()
    expect(alone.summary.totals![0]!.mostWaiting).toBe(0)
  })

  it('counts what a total refuses, and how full it was', () => {
    const flood = Array.from({ length: 100 }, () => at(0, 'a/1'))
    const { summary, told } = simulate({ '*': '500, 10/s', 'a/': '20, 10/s' }, flood)
    expect(summary.totals![0]).toMatchObject({ rejectedByIt: summary.rejected, capacity: 20 })
    expect(summary.totals![0]!.mostWaiting).toBe(16)
    const refused = told.find(({ outcome }) => !outcome.accepted)!.outcome
    expect(refused).toMatchObject({ accepted: false, reason: 'full', retryAt: 0.1e6 })
  })

  it('says most of ten children, and of the others all together', () => {
    const arrivals = Array.from({ length: 1_000 }, (_, index) => at(0, `a/${index % 40}`))
    const { summary } = simulate({ '*': '50, 5/s', 'a/': '5000, 100/s' }, arrivals)
    const [total] = summary.totals!
    expect(total!.children).toHaveLength(10)
    expect(total!.others).toMatchObject({ children: 30, arrivals: 750, accepted: 750, rejected: 0 })
    expect(total!.others!.share).toBeCloseTo(1 / 40, 2)
  })

  it('says most of ten totals, and how many others there are', () => {
    const arrivals = Array.from({ length: 24 }, (_, index) => at(0, `${index % 12}/x`))
    const { summary } = simulate({ '*': '50, 5/s', '*/': '50, 5/s' }, arrivals)
    expect(summary.totals).toHaveLength(10)
    expect(summary.furtherTotals).toBe(2)
  })

  it('gives keys without a total what they have by themselves', () => {
    const random = seededRandom(3)
    let time = 0
    const arrivals = Array.from({ length: 500 }, () => {
      time += Math.round(random() * 300_000)
      return { at: time, key: `k${Math.floor(random() * 3)}`, cost: 1 }
    })
    const limits = { '*': '4, 1/s, 40/minute' }
    const alone = new Simulation(new RuleBook(limits))
    const expected = arrivals.map((arrival) => alone.offer(arrival))
    const { told, summary } = simulate({ ...limits, 'a/': '9, 1/s' }, arrivals)
    for (const [index, { outcome }] of told.entries()) {
      const own = expected[index]!
      expect(outcome.accepted).toBe(own.accepted)
      if (outcome.accepted && own.accepted) {
        expect(outcome.position).toBe(own.position)
        expect(outcome.departsAt).toBeCloseTo(own.departsAt, 2)
      }
    }
    const { heldBack, ...counts } = alone.summary()
    expect(heldBack).toBeDefined()
    expect(summary).toEqual({
      ...counts,
      waitMs: expect.anything(),
      lastDepartureS: expect.anything(),
    })
  })

  it('rejects a key without a limit, and counts nothing of it', () => {
    const simulation = new FamilySimulation(new RuleBook({ 'a/*': '1, 1/s', 'a/': '1, 1/s' }))
    expect(() => simulation.offer(at(0, 'b'))).toThrow(NoLimitError)
    expect(simulation.summary()).toMatchObject({ arrivals: 0, keys: 0 })
    expect(simulation.spread).toBeUndefined()
  })

  it('keeps no bucket and no total whose time has passed', () => {
    const simulation = new FamilySimulation(new RuleBook({ '*': '5, 1/s', '*/': '50, 5/s' }))
    for (let index = 0; index < 20_000; index++) simulation.offer(at(index / 100, `user-${index}/x`))
    expect(simulation.liveBuckets).toBeLessThan(1_000)
  })
})
