import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { CheckOptions, HistoryEvent } from '../../../src/conformance/history.ts'
import { createBucket, depart, freeze as freezeBucket, reserve } from '../../../src/core/bucket.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import {
  accept,
  end,
  fault,
  freeze,
  giveBack,
  inOrder,
  limit,
  pause,
  reject,
  resume,
  run,
  start,
} from '../../support/history.ts'

const RULE = '99, 10/s, warm-up 3s'
const busy: CheckOptions = { minUtilisation: 0.999, shortestStretch: 2 }
const laws = (history: HistoryEvent[], options: CheckOptions = {}) =>
  checkHistory(history, { unfinished: true, ...options }).map(({ law, id }) => [law, id])
/** So many jobs that all wait from 0 on, spaced as the core does; times in milliseconds. */
const warmUpOf = (jobs: number, text = RULE): number[] => {
  const bucket = createBucket(parseLimit(text))
  return Array.from({ length: jobs }, () => reserve(bucket, 1, 0) / 1_000)
}
const runAll = (starts: readonly number[]) => starts.flatMap((at, index) => run(at, `j${index}`))
const evenly = (jobs: number, gap: number, from = 0) =>
  Array.from({ length: jobs }, (_, index) => from + index * gap)

test('a warm-up keeps every law, and does not count as a loss of the rate', () => {
  expect(laws(inOrder(limit(0, RULE), runAll(warmUpOf(60))), busy)).toEqual([])
})

test('a stream that ignores the warm-up breaks L2 with its numbers', () => {
  const history = inOrder(limit(0, RULE), run(0, 'x'), run(200, 'y'))
  expect(checkHistory(history)).toEqual([
    {
      law: 'L2',
      at: 200_000,
      key: 'a',
      id: 'y',
      message:
        'key "a": the start of job "y" at 0.200000 s came 95.000 ms before the bucket can be so warm, ' +
        'expected 0.295000 s or later',
    },
  ])
})

test('a stream that warms up too fast breaks L2', () => {
  const starts = warmUpOf(40, '99, 10/s, warm-up 2s')
  expect(laws(inOrder(limit(0, RULE), runAll(starts))).map(([law]) => law)).toContain('L2')
})

test('a bucket that was idle as long as it was warm is cold', () => {
  const warm = warmUpOf(40)
  const idleUntil = warm.at(-1)! + 100 + 3_010
  const again = (gap: number) =>
    inOrder(limit(0, RULE), runAll(warm), run(idleUntil, 'x'), run(idleUntil + gap, 'y'))
  expect(laws(again(300))).toEqual([])
  expect(laws(again(100))).toEqual([['L2', 'y']])
})

test('single arrivals do not warm it: each is counted from the one before', () => {
  const oneByOne = (gap: number) => evenly(6, gap).flatMap((at, index) => run(at, `j${index}`, { from: at }))
  expect(laws(inOrder(limit(0, RULE), oneByOne(300)))).toEqual([])
  expect(laws(inOrder(limit(0, RULE), oneByOne(110))).length).toBeGreaterThan(0)
})

test('after a freeze it is cold', () => {
  const warm = warmUpOf(40)
  const last = warm.at(-1)!
  const frozen = (gap: number) =>
    inOrder(
      limit(0, RULE),
      runAll(warm),
      freeze(last + 10, last + 150),
      run(last + 150, 'x'),
      run(last + 150 + gap, 'y'),
    )
  expect(laws(frozen(300))).toEqual([])
  expect(laws(frozen(150))).toEqual([['L2', 'y']])
})

test('a start that may not know of the freeze may come as before', () => {
  const warm = warmUpOf(40)
  const last = warm.at(-1)!
  const history = inOrder(
    limit(0, RULE),
    runAll(warm),
    freeze(last + 90, last + 95),
    run(last + 100, 'x'),
    run(last + 200, 'y'),
  )
  expect(laws(history, { lag: 50_000 })).toEqual([])
  expect(laws(history)).toEqual([['L2', 'y']])
})

test('after another limit, a fault or a crash its warmth is unknown', () => {
  const jump = inOrder(run(0, 'x'), run(300, 'y'), run(400, 'z', { from: 1 }))
  const crash: HistoryEvent = { type: 'crash', at: 350_000, handed: 0 }
  expect(laws(inOrder(limit(0, RULE), jump))).toEqual([['L2', 'z']])
  expect(laws(inOrder(limit(0, RULE), limit(350, '99, 10/s, warm-up 2s'), jump))).toEqual([])
  expect(laws(inOrder(limit(0, RULE), crash, jump))).toEqual([])
  const running = inOrder(accept(0, 'x'), start(0, 'x'), fault(10, 'x'), run(100, 'y', { from: 1 }))
  expect(laws(inOrder(limit(0, RULE), running))).toEqual([])
})

test('a bucket that gains a warm-up is cold, whether it was idle and forgotten or not', () => {
  const history = (retryAt: number): HistoryEvent[] => [
    limit(0, '6, 4/s'),
    ...run(0, 'v', { cost: 3 }),
    limit(2_000, '6, 3/s, warm-up 2s'),
    ...run(2_000, 'w', { cost: 6, from: 2_000 }),
    accept(2_010, 'x', { cost: 6 }),
    reject(2_100, 'y', { cost: 3, retryAt }),
    start(5_112, 'x', { cost: 6 }),
  ]
  expect(laws(history(5_112))).toEqual([])
  const busyBefore: HistoryEvent[] = [
    limit(0, '9, 4/s'),
    ...run(0, 'v', { cost: 6 }),
    accept(1, 'w', { cost: 6 }),
    limit(2, '9, 3/s, warm-up 2s'),
    start(3_112, 'w', { cost: 6 }),
    accept(3_113, 'x', { cost: 6 }),
    reject(3_114, 'y', { cost: 6, retryAt: 6_224 }),
    start(6_224, 'x', { cost: 6 }),
  ]
  expect(laws(busyBefore)).toEqual([])
})

test('a bucket that was cold before its warm-up was made longer stays cold', () => {
  const history: HistoryEvent[] = [
    limit(0, '6, 3/s, warm-up 2s'),
    ...run(0, 'v', { cost: 3 }),
    limit(4_700, '6, 3/s, warm-up 20s from 1/m'),
    ...run(4_800, 'w', { cost: 6, from: 4_800 }),
    accept(4_810, 'x', { cost: 6 }),
    reject(4_900, 'y', { cost: 3, retryAt: 70_000 }),
    start(70_000, 'x', { cost: 6 }),
  ]
  expect(laws(history)).toEqual([])
})

test('once it has warmed up under its new limit, promises are judged again', () => {
  const rule = '2, 10/s, warm-up 3s'
  const warm = warmUpOf(41, rule).map((at) => 1_000 + at)
  const [last, next] = warm.slice(-2) as [number, number]
  const history = (retryAt: number): HistoryEvent[] => [
    limit(0, '2, 10/s'),
    ...run(0, 'v'),
    limit(900, rule),
    ...warm.slice(0, -1).flatMap((at, index) => run(at, `j${index}`, { from: at })),
    accept(last + 10, 'p'),
    accept(last + 10, 'q'),
    reject(last + 10, 'y', { retryAt: last + retryAt }),
    start(next, 'p'),
  ]
  expect(laws(history(100))).toEqual([])
  expect(laws(history(130))).toEqual([['L1', 'y']])
})

test('a freeze before a fault leaves it cold', () => {
  const warm = warmUpOf(40)
  const last = warm.at(-1)!
  const again = warmUpOf(10).map((at, index) => run(last + 310 + at, `s${index}`))
  const history = inOrder(
    limit(0, RULE),
    runAll(warm),
    accept(last + 1, 'f'),
    freeze(last + 10, last + 310),
    fault(last + 20, 'f'),
    end(last + 30, 'f', 'cancelled'),
    again.flat(),
  )
  expect(laws(history, busy)).toEqual([])
})

test('while a change of warm-up settles, it may be as warm as the previous limit allows', () => {
  const old = '99, 10/s, warm-up 3s'
  const warm = warmUpOf(60, old)
  const change = warm[40]! + 1
  const history = inOrder(limit(0, old), limit(change, '99, 5/s, warm-up 500ms'), runAll(warm))
  expect(laws(history, { settle: 10_000_000 })).toEqual([])
  expect(laws(history).map(([law]) => law)).toContain('L2')
})

test('in a history that begins in the middle the first warmth is unknown', () => {
  const history = inOrder(limit(0, RULE), runAll(evenly(30, 100)))
  expect(laws(history, { midway: true })).toEqual([])
  expect(laws(history).length).toBeGreaterThan(0)
})

test('a stream that stays cold under load breaks L3', () => {
  const history = inOrder(limit(0, RULE), runAll(evenly(40, 300)))
  expect(laws(history, { minUtilisation: 0.9 })).toEqual([['L3', undefined]])
})

test('a stream that is warm and slow breaks L3', () => {
  const warm = warmUpOf(40)
  const slow = evenly(30, 125, warm.at(-1)! + 125).flatMap((at, index) => run(at, `s${index}`))
  expect(laws(inOrder(limit(0, RULE), runAll(warm), slow), busy).map(([law]) => law)).toContain('L3')
})

test('a pause cools as well, and a retry warms like any other start', () => {
  const bucket = createBucket(parseLimit(RULE))
  const first = [0, 1, 2].map((now) => {
    const at = reserve(bucket, 1, now)
    depart(bucket, 1, at)
    return at / 1_000
  })
  freezeBucket(bucket, 0)
  const history = inOrder(
    limit(0, RULE),
    accept(0, 'x'),
    accept(0, 'y'),
    start(first[0]!, 'x'),
    giveBack(first[0]! + 1, 'x', 'retry'),
    start(first[1]!, 'y'),
    end(first[1]! + 1, 'y'),
    start(first[2]!, 'x', { attempt: 2 }),
    end(first[2]! + 1, 'x'),
    pause(first[2]! + 2),
    resume(5_000),
    run(5_000, 'z', { from: 4_000 }),
    run(5_300, 'w', { from: 4_000 }),
  )
  expect(laws(history)).toEqual([])
  expect(laws([...history, ...run(5_400, 'v')])).toEqual([['L2', 'v']])
})

/** Two wait behind the last of forty, and a third is refused and gets `retryAt` after the last start. */
function refused(retryAt: number, jobs = 40): HistoryEvent[] {
  const rule = '2, 10/s, warm-up 3s'
  const warm = warmUpOf(jobs + 1, rule)
  const [last, next] = warm.slice(-2) as [number, number]
  return [
    limit(0, rule),
    ...warm.slice(0, -1).flatMap((at, index) => run(at, `j${index}`, { from: at })),
    accept(last + 10, 'p'),
    accept(last + 10, 'q'),
    reject(last + 10, 'y', { retryAt: last + retryAt }),
    start(next, 'p'),
  ]
}

test('a promise of a bucket that is warm is judged, one of a bucket that warms up is not', () => {
  expect(laws(refused(100))).toEqual([])
  expect(laws(refused(130))).toEqual([['L1', 'y']])
  expect(laws(refused(130, 4))).toEqual([])
})
