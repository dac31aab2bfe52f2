import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BucketView } from '../../../src/core/bucket-view.ts'
import type { LineJob } from '../../../src/core/line-view.ts'
import { FlowHistory, rangeOf, sampleBetween } from '../../../src/dashboard/page/data/flow-history.ts'
import { departuresPerSecond, gapPoints, gapsInWords } from '../../../src/dashboard/page/data/gaps.ts'
import { layOutLine } from '../../../src/dashboard/page/data/line-layout.ts'
import { ServerClock } from '../../../src/dashboard/page/data/server-clock.ts'
import { nextRows } from '../../../src/dashboard/page/data/shown-rows.ts'
import { Store } from '../../../src/dashboard/page/data/store.ts'

describe('what flows', () => {
  const before = { at: 1_000, admitted: 100, departed: 50, rejected: 7 }

  test('is the difference of two moments, per second', () => {
    const now = { at: 3_000, admitted: 120, departed: 70, rejected: 17 }
    expect(sampleBetween(before, now)).toEqual({ at: 3_000, arrivals: 15, departures: 10, refused: 5 })
  })

  test('is not known over a restart of the service, nor over a long silence', () => {
    const unknown = { arrivals: null, departures: null, refused: null }
    expect(sampleBetween(before, { ...before, at: 2_000, admitted: 3 })).toEqual({ at: 2_000, ...unknown })
    expect(sampleBetween(before, { ...before, at: 60_000 })).toEqual({ at: 60_000, ...unknown })
  })

  test('is kept for a while, and never twice', () => {
    const history = new FlowHistory(10_000)
    const flow = { admitted: 0, departed: 0, rejected: 0 }
    expect(history.push({ ...flow, at: 1_000 })).toBe(false)
    for (let at = 2_000; at <= 30_000; at += 1_000) expect(history.push({ ...flow, at })).toBe(true)
    expect(history.push({ ...flow, at: 30_000 })).toBe(false)
    expect(history.samples.map(({ at }) => at)).toEqual(
      Array.from({ length: 11 }, (_, index) => 20_000 + index * 1_000),
    )
    expect(history.latest()?.at).toBe(30_000)
  })

  test('is put into words from what is known', () => {
    expect(rangeOf([1, null, 3, 8])).toEqual({ least: 1, most: 8, mean: 4 })
    expect(rangeOf([null])).toBeUndefined()
  })
})

describe('the rows of the table', () => {
  const view = (key: string, waiting: number, oldestWaitMs = 0) =>
    ({ key, waiting, oldestWaitMs }) as BucketView
  const keys = (rows: readonly { bucket: BucketView }[]) => rows.map(({ bucket }) => bucket.key)

  test('stay the same as long as nothing about them changes but a wait', () => {
    const rows = nextRows([], [view('a', 1), view('b', 2)], false)
    const again = nextRows(rows, [view('a', 1, 500), view('b', 3)], false)
    expect(again[0]).toBe(rows[0])
    expect(again[1]).not.toBe(rows[1])
    expect(nextRows(again, [view('a', 1), view('b', 3)], false)).toBe(again)
  })

  test('keep their order while it is held, say what is new, and that they are gone', () => {
    const rows = nextRows([], [view('a', 1), view('b', 2)], false)
    const held = nextRows(rows, [view('c', 9), view('b', 5)], true)
    expect(keys(held)).toEqual(['a', 'b'])
    expect(held.map(({ isGone }) => isGone)).toEqual([true, false])
    expect(held[1]!.bucket.waiting).toBe(5)
    expect(nextRows(held, [view('c', 9), view('b', 5)], true)).toBe(held)
    const free = nextRows(held, [view('c', 9), view('a', 1)], false)
    expect(keys(free)).toEqual(['c', 'a'])
    expect(free.map(({ isGone }) => isGone)).toEqual([false, false])
  })
})

describe('the picture of a line', () => {
  const jobs = (count: number, cost = 1): LineJob[] =>
    Array.from({ length: count }, (_, index) => ({ id: `${index}`, cost, state: 'waiting', admittedAt: 0 }))
  const scene = (count: number, capacity: number, width = 900) =>
    layOutLine({ width, jobs: jobs(Math.min(50, count)), total: count, waiting: count, capacity })

  test('is as long as its capacity where there is room, and every job has its place', () => {
    const { length, taken, jobs: placed, hidden } = scene(3, 5)
    expect(length).toBe(5 * 44)
    expect(taken).toBeCloseTo(3 * 44)
    expect(placed.map(({ at }) => at)).toEqual([0, 44, 88])
    expect(hidden).toBe(0)
  })

  test('of a large bucket shows the first jobs, and how many more there are', () => {
    const { length, taken, jobs: placed, hidden } = scene(500, 500)
    expect([length, taken]).toEqual([900, 900])
    expect(placed).toHaveLength(40)
    expect(hidden).toBe(460)
  })

  test('shows the taken share, unless that is too short for a figure', () => {
    expect(scene(5_000, 10_000).taken).toBe(450)
    const few = scene(12, 10_000)
    expect(few.jobs).toHaveLength(10)
    expect(few.hidden).toBe(2)
  })

  test('draws jobs of higher cost wider', () => {
    const plan = layOutLine({ width: 900, jobs: jobs(2, 3), total: 2, waiting: 6, capacity: 20 })
    expect(plan.jobs.map(({ width }) => width)).toEqual([132, 132])
    const crowded = layOutLine({ width: 900, jobs: jobs(2, 30), total: 2, waiting: 60, capacity: 1_000 })
    expect(crowded.jobs[0]!.width).toBe(60)
  })

  test('has room for every drawn job, for any numbers', () => {
    const numbers = fc.integer({ min: 0, max: 2_000 })
    fc.assert(
      fc.property(
        numbers,
        numbers,
        fc.integer({ min: 120, max: 2_000 }),
        numbers,
        (count, capacity, width, waiting) => {
          const plan = layOutLine({
            width,
            jobs: jobs(Math.min(50, count)),
            total: count,
            waiting,
            capacity,
          })
          const edge = plan.jobs.at(-1)
          expect(plan.length).toBeLessThanOrEqual(width + 0.5)
          expect(plan.taken).toBeLessThanOrEqual(plan.length)
          expect(edge === undefined ? 0 : edge.at + edge.width).toBeLessThanOrEqual(plan.taken + 0.5)
          expect(plan.hidden + plan.jobs.length).toBe(count)
        },
      ),
    )
  })
})

describe('the gaps', () => {
  const departures = [
    { at: 3_000, id: 'c', gapMs: 5_000, gapRatio: 5 },
    { at: 2_000, id: 'b', gapMs: 1_000, gapRatio: 1 },
    { at: 1_000, id: 'a' },
  ]

  test('are drawn from left to right, and those beyond the edge at it', () => {
    expect(gapPoints(departures)).toEqual([
      { id: 'b', ratio: 1, across: 0, up: 0.5, isBeyond: false },
      { id: 'c', ratio: 5, across: 1, up: 1, isBeyond: true },
    ])
    expect(gapsInWords(departures)).toBe('Smallest gap 1.00, median gap 5.00 of the interval.')
    expect(gapsInWords([])).toBe('Fewer than two departures so far.')
  })

  test('say how fast they leave', () => {
    expect(departuresPerSecond(departures)).toBe(1)
    expect(departuresPerSecond(departures.slice(0, 1))).toBeUndefined()
  })
})

test('the clock of the lines is that of the news that came quickest', () => {
  let now = 10_000
  const clock = new ServerClock(() => now)
  expect(clock.now()).toBe(10_000)
  clock.note(14_800)
  clock.note(14_990)
  clock.note(14_500)
  expect(clock.now()).toBe(14_990)
  now = 20_000
  expect(clock.now()).toBe(24_990)
})

test('a store notifies of another value, and not of an equal one', () => {
  const store = new Store(1)
  let calls = 0
  const end = store.listen(() => calls++)
  store.set(1)
  store.set(2)
  end()
  store.set(3)
  expect([calls, store.get()]).toEqual([1, 3])
})
