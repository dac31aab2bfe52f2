import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { CheckOptions, HistoryEvent } from '../../../src/conformance/history.ts'
import {
  accept,
  end,
  fault,
  freeze,
  giveBack,
  limit,
  pause,
  promise,
  resume,
  start,
  unfreeze,
} from '../../support/history.ts'

const at = (key: string) => ({ key })
const X = at('a/x')
const Y = at('a/y')
const LIMITS = [
  ...['a/x', 'a/y', 'a/z', 'b/x'].map((key) => limit(0, '99, 100/s', key)),
  limit(0, '99, 1/s', 'a/'),
]
/** At 10 ms `x`, first in its line beside another, is promised to start by 3 s. */
const PROMISED = [
  ...LIMITS,
  accept(0, 'y', { ...Y, cost: 2 }),
  accept(0, 'x', X),
  promise(10, 'x', 3_000, 'a/x'),
]

function found(events: readonly HistoryEvent[], options: CheckOptions = {}): string[] {
  const history = [...PROMISED, ...events].toSorted((one, other) => one.at - other.at)
  const breaches = checkHistory(history, { unfinished: true, ...options })
  return breaches.filter(({ law }) => law === 'L13').map(({ message }) => message)
}

test('a job that starts by the time that it was promised conforms, and one that starts later does not', () => {
  expect(found([start(3_000, 'x', X)])).toEqual([])
  expect(found([start(3_001, 'x', X)])).toEqual([
    'key "a/x": job "x" was promised at 0.010000 s that it starts by 3.000000 s, and waits 1.000 ms longer in "a/", with no excuse',
  ])
})

test('a job that has not started is late as soon as its time has passed, and however it ends', () => {
  expect(found([accept(3_000, 'later', at('b/x'))])).toEqual([])
  expect(found([accept(3_001, 'later', at('b/x'))])).toHaveLength(1)
  expect(found([end(2_000, 'x', 'cancelled'), accept(9_000, 'later', at('b/x'))])).toEqual([])
  expect(found([end(3_001, 'x', 'cancelled'), start(9_000, 'y', Y)])).toHaveLength(1)
})

test('each promise is kept, and a job that left its line before is promised nothing', () => {
  expect(found([promise(500, 'x', 2_000, 'a/x'), start(2_500, 'x', X)])).toHaveLength(1)
  expect(found([promise(500, 'x', 4_000, 'a/x'), start(3_500, 'x', X)])).toHaveLength(1)
  expect(found([start(900, 'x', X), promise(1_000, 'x', 1_100, 'a/x'), start(5_000, 'y', Y)])).toEqual([])
})

/** What happens at a time, and nothing else that matters. */
const EXCUSES: readonly (readonly [string, (ms: number) => HistoryEvent])[] = [
  ['a key gets jobs that had none', (ms) => accept(ms, 'z', at('a/z'))],
  ['a job comes that costs more than others of its key', (ms) => accept(ms, 'z', { ...Y, cost: 3 })],
  ['another limit of a key', (ms) => limit(ms, '99, 50/s', 'a/y')],
  ['another limit of the total', (ms) => limit(ms, '99, 2/s', 'a/')],
  ['a total between', (ms) => limit(ms, '99, 2/s', 'a/y/')],
  ['a freeze', (ms) => freeze(ms, ms + 100, 'a/y')],
  ['the end of a freeze', (ms) => unfreeze(ms, 'a/y')],
  ['a pause', (ms) => pause(ms, 'a/')],
  ['the end of a pause', (ms) => resume(ms, 'a/y')],
  ['a fault', (ms) => fault(ms, 'y')],
  ['a crash', (ms) => ({ type: 'crash', at: ms * 1_000, handed: 1 })],
]

describe.each(EXCUSES)('%s', (_, event) => {
  test('excuses what comes after it', () => {
    expect(found([event(2_999), start(9_000, 'x', X)])).toEqual([])
  })

  test('does not excuse a job that is late by then', () => {
    expect(found([event(3_001), start(9_000, 'x', X)])).toHaveLength(1)
  })
})

test('what happens elsewhere, or changes nothing for the shares, excuses nothing', () => {
  const others = [
    accept(100, 'far', { key: 'b/x', cost: 9 }),
    freeze(100, 9_000, 'b/x'),
    pause(100, 'b/x'),
    limit(100, '99, 9/s', 'b/x'),
    limit(100, '99, 9/s', 'a/new'),
    accept(100, 'more', { ...Y, cost: 2 }),
    accept(100, 'behind', X),
    end(200, 'more', 'cancelled'),
    start(300, 'y', { ...Y, cost: 2 }),
  ]
  for (const event of others.filter(({ type }) => type !== 'end')) {
    expect(found([event, start(9_000, 'x', X)])).toHaveLength(1)
  }
  expect(found([...others, start(9_000, 'x', X)])).toHaveLength(1)
})

test('a job that comes back excuses as one that comes; at the same key always', () => {
  const back = (id: string, key: { key: string }, cost: number) => [
    start(100, id, { ...key, cost }),
    giveBack(200, id, 'retry', 300),
  ]
  const late = start(9_000, 'x', X)
  expect(found([...back('y', Y, 2), late])).toEqual([])
  expect(found([accept(20, 'y2', { ...Y, cost: 2 }), ...back('y', Y, 2), late])).toHaveLength(1)
  expect(found([accept(20, 'x2', X), ...back('x2', X, 1), late])).toEqual([])
})

test('a freeze of before excuses when it ends before the promised time', () => {
  const late = start(9_000, 'x', X)
  expect(found([freeze(5, 2_000, 'a/z'), late])).toEqual([])
  expect(found([freeze(5, 3_500, 'a/z'), late])).toHaveLength(1)
  expect(found([freeze(2, 9, 'a/z'), late])).toHaveLength(1)
  expect(found([freeze(2, 2_000, 'a/z'), unfreeze(5, 'a/z'), late])).toHaveLength(1)
  expect(found([freeze(2, 2_000, 'b/x'), late])).toHaveLength(1)
})

test('while few handlers are free nothing is judged', () => {
  const busy = [accept(20, 'b1', at('b/x')), start(30, 'b1', at('b/x'))]
  const late = start(9_000, 'x', X)
  expect(found([...busy, late], { concurrency: 9 })).toHaveLength(1)
  expect(found([...busy, late], { concurrency: 4 })).toEqual([])
  expect(
    found([...busy, end(900, 'b1'), promise(1_000, 'x', 4_000, 'a/x'), late], { concurrency: 5 }),
  ).toHaveLength(1)
})

test('with a lag its start may be late by it, and each of the family before it', () => {
  const options = { lag: 500_000 }
  const y = (ms: number) => start(ms, 'y', { ...Y, cost: 2 })
  expect(found([start(3_500, 'x', X)], options)).toEqual([])
  expect(found([start(3_501, 'x', X)], options)).toHaveLength(1)
  expect(found([y(210), start(3_700, 'x', X)], options)).toEqual([])
  expect(found([y(210), start(3_701, 'x', X)], options)).toHaveLength(1)
  expect(found([y(2_000), start(4_000, 'x', X)], options)).toEqual([])
  expect(found([y(2_000), start(4_001, 'x', X)], options)).toHaveLength(1)
})

test('a key without totals is judged by itself', () => {
  const alone = [limit(0, '9, 1/s', 'k'), accept(0, 'one', at('k')), promise(0, 'one', 1_000, 'k')]
  expect(found([...alone, accept(500, 'other', at('c')), start(1_001, 'one', at('k'))])).toHaveLength(1)
  expect(found([...alone, freeze(500, 800, 'k'), start(1_001, 'one', at('k'))])).toEqual([])
})

test('a total that comes further out excuses', () => {
  const nested = [limit(0, '9, 9/s', 'c/d/e'), limit(0, '9, 1/s', 'c/d/'), accept(0, 'n', at('c/d/e'))]
  const late = [promise(0, 'n', 1_000, 'c/d/e'), start(1_001, 'n', at('c/d/e'))]
  expect(found([...nested, ...late])).toHaveLength(1)
  expect(found([...nested, ...late, limit(500, '9, 2/s', 'c/')])).toEqual([])
})
