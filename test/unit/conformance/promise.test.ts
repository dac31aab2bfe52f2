import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import {
  accept,
  audit,
  end,
  fault,
  freeze,
  giveBack,
  limit,
  pause,
  quota,
  reject,
  resume,
  start,
} from '../../support/history.ts'

const open = { unfinished: true }

/** Three wait behind x, which started at 0; at 100 ms y is refused and gets `retryAt`. */
function refused(retryAt: number, cost = 1): HistoryEvent[] {
  return [
    limit(0, '3, 2/s'),
    accept(0, 'x'),
    start(0, 'x'),
    accept(10, 'p'),
    accept(20, 'q'),
    accept(30, 'r'),
    reject(100, 'y', { retryAt, cost }),
  ]
}

test('a rejection that named the departure which made room kept its promise', () => {
  expect(checkHistory([...refused(500), start(500, 'p')], open)).toEqual([])
  expect(checkHistory([...refused(1_000, 2), start(500, 'p'), start(1_000, 'q')], open)).toEqual([])
})

test('a retry time that is too late breaks L1 with its numbers', () => {
  expect(checkHistory([...refused(600), start(500, 'p')], open)).toEqual([
    {
      law: 'L1',
      at: 100_000,
      key: 'a',
      id: 'y',
      message:
        'key "a": job "y", rejected at 0.100000 s, was asked to retry at 0.600000 s, 100.000 ms later than ' +
        'needed, expected 0.500000 s',
    },
  ])
})

test('a retry time that is too early breaks L1 with its numbers', () => {
  const breaches = checkHistory([...refused(500, 2), start(500, 'p'), start(1_000, 'q')], open)
  expect(breaches.map(({ law, id }) => [law, id])).toEqual([['L1', 'y']])
  expect(breaches[0]?.message).toContain(
    'at 0.500000 s, 500.000 ms earlier than there is room, expected 1.000000 s',
  )
})

test('a promise may count from the slot of a late start until the store can know of it', () => {
  const late = (refusedAt: number): HistoryEvent[] => [
    ...refused(500),
    start(580, 'p'),
    accept(581, 's'),
    reject(refusedAt, 'z', { retryAt: 1_000 }),
    start(1_080, 'q'),
  ]
  const breaches = (refusedAt: number, lag: number) =>
    checkHistory(late(refusedAt), { ...open, lag }).map(({ law, id, message }) => [
      law,
      id,
      message.match(/, ([^,]+), expected/)?.[1],
    ])
  expect(breaches(600, 50_000)).toEqual([])
  expect(breaches(640, 50_000)).toEqual([['L1', 'z', '80.000 ms earlier than there is room']])
  expect(breaches(600, 0)).toEqual([['L1', 'z', '80.000 ms earlier than there is room']])
})

test('the grid of slots may lie before the starts by the tolerance, and the promise with it', () => {
  expect(checkHistory([...refused(495), start(500, 'p')], open)).toEqual([])
  expect(checkHistory([...refused(494.9), start(500, 'p')], open)).toHaveLength(1)
  expect(checkHistory([...refused(505), start(500, 'p')], open)).toEqual([])
  expect(checkHistory([...refused(506.1), start(500, 'p')], open)).toHaveLength(1)
})

test('late handlers do not turn promises into breaches', () => {
  expect(checkHistory([...refused(1_000, 2), start(700, 'p'), start(1_400, 'q')], open)).toEqual([])
})

test('a promise counts the units that actually departed', () => {
  const history = [
    limit(0, '3, 2/s'),
    accept(0, 'p', { cost: 2 }),
    accept(0, 'q'),
    reject(0, 'y', { retryAt: 1_000, cost: 3 }),
    reject(0, 'z', { retryAt: 0, cost: 2 }),
    start(0, 'p', { cost: 2 }),
    start(1_000, 'q'),
  ]
  expect(checkHistory(history, open)).toEqual([])
})

test('with a first job that is due and still waits, the promise is an estimate and not judged', () => {
  const guess = (at: number) => [
    limit(0, '1, 2/s'),
    ...[accept(0, 'w'), start(0, 'w'), accept(1, 'x')],
    reject(at, 'y', { retryAt: at + 500 }),
    start(950, 'x'),
  ]
  expect(checkHistory(guess(900), open)).toEqual([])
  expect(checkHistory(guess(400), open)).toHaveLength(1)
})

test('the jobs behind an overdue first job are due an interval later each', () => {
  const overdue = (retryAt: number) => [
    ...refused(500).slice(0, -1),
    reject(900, 'y', { retryAt, cost: 2 }),
    start(950, 'p'),
    start(1_450, 'q'),
  ]
  expect(checkHistory(overdue(1_400), open)).toEqual([])
  expect(checkHistory(overdue(1_900), open)).toHaveLength(1)
})

test('a promise may count from a slot that has passed, of a job that starts only now, by as much as the lag', () => {
  const overdue = (retryAt: number) => [
    ...refused(500).slice(0, -1),
    reject(540, 'y', { retryAt, cost: 2 }),
    start(541, 'p'),
    start(1_041, 'q'),
  ]
  const count = (retryAt: number, lag: number) =>
    checkHistory(overdue(retryAt), { ...open, lag: lag * 1_000 }).length
  expect(count(1_000, 50)).toBe(0)
  expect(count(990, 50)).toBe(1)
  expect(count(1_000, 30)).toBe(1)
  expect(count(1_000, 0)).toBe(1)
})

test('the first job of a frozen line departs when the freeze ends', () => {
  const frozen = (retryAt: number) => [
    limit(0, '1, 2/s'),
    accept(0, 'x'),
    freeze(1, 800),
    reject(2, 'y', { retryAt }),
    start(800, 'x'),
  ]
  expect(checkHistory(frozen(800), open)).toEqual([])
  expect(checkHistory(frozen(700), open)).toHaveLength(1)
})

test('two rejections are judged each by its own promise', () => {
  const history = [...refused(500), reject(200, 'z', { retryAt: 900 }), start(500, 'p')]
  expect(checkHistory(history, open).map(({ id }) => id)).toEqual(['z'])
})

test('any other change of the line discards the promise', () => {
  const movers: HistoryEvent[] = [
    end(200, 'p', 'cancelled'),
    end(200, 'p', 'expired'),
    freeze(200, 300),
    pause(200),
    limit(200, '3, 2/s'),
    fault(200, 'x'),
    giveBack(200, 'x', 'retry'),
  ]
  for (const mover of movers) {
    const unpause = mover.type === 'pause' ? [resume(300)] : []
    const later = mover.type === 'end' ? start(500, 'q') : start(500, 'p')
    expect(checkHistory([...refused(5_000), mover, ...unpause, later], open)).toEqual([])
  }
})

test('a smaller job that came in between discards the promise', () => {
  const history = [
    limit(0, '3, 2/s'),
    accept(0, 'p', { cost: 2 }),
    reject(100, 'y', { retryAt: 5_000, cost: 2 }),
    accept(200, 'z'),
    start(300, 'p', { cost: 2 }),
  ]
  expect(checkHistory(history, open)).toEqual([])
})

test('an audit and the end of a handler do not', () => {
  const counts = { admitted: 4, waiting: 3, ended: 1 }
  const history = [...refused(5_000), end(200, 'x'), audit(300, counts), start(500, 'p')]
  expect(checkHistory(history, open).map(({ law }) => law)).toEqual(['L1'])
  const failed = [...refused(5_000), end(200, 'x', 'failed'), start(500, 'p')]
  expect(checkHistory(failed, open).map(({ law }) => law)).toEqual(['L1'])
})

test('a promise that depends on a retry, a fault, a pause or a change that settles is not judged', () => {
  const wrong = reject(200, 'y', { retryAt: 5_000 })
  const line = [limit(0, '1, 2/s'), accept(0, 'x'), start(0, 'x')]
  const cases: HistoryEvent[][] = [
    [...line, giveBack(100, 'x', 'retry', 600), wrong, start(600, 'x', { attempt: 2 })],
    [...line, accept(1, 'p'), fault(100, 'x'), wrong, start(500, 'p')],
    [...line, accept(1, 'p'), pause(2), wrong, resume(300), start(500, 'p')],
    [...line, accept(1, 'p'), limit(199, '1, 2/s'), wrong, start(500, 'p')],
  ]
  for (const history of cases) expect(checkHistory(history, { ...open, settle: 2_000 })).toEqual([])
})

test('a start that frees no room discards the promise', () => {
  const history = [...refused(5_000), start(500, 'ghost'), start(1_000, 'p')]
  expect(checkHistory(history, open).map(({ law, id }) => [law, id])).toEqual([['L5', 'ghost']])
})

test('a start of a job that was rejected does not change the line', () => {
  const history = [...refused(5_000), end(200, 'unknown', 'cancelled'), start(500, 'p')]
  expect(checkHistory(history, open).map(({ law }) => law)).toEqual(['L1', 'L5'])
})

test('an estimate is not judged', () => {
  const guess = (retryAt: number) =>
    refused(retryAt).map((event) =>
      event.type === 'answer' && !event.accepted ? { ...event, isEstimate: true } : event,
    )
  expect(checkHistory([...guess(100), start(500, 'p')], open)).toEqual([])
  expect(checkHistory([...guess(900), start(500, 'p')], open)).toEqual([])
})

test('under a quota, or a bound on what runs at once, a promise may be later than the pace, and not earlier', () => {
  for (const parts of [{ quotas: [quota(9, 9_000)] }, { concurrency: 4 }]) {
    const under = (retryAt: number) => refused(retryAt).with(0, limit(0, '3, 2/s', 'a', parts))
    expect(checkHistory([...under(900), start(500, 'p')], open)).toEqual([])
    expect(checkHistory([...under(490), start(500, 'p')], open).map(({ law, id }) => [law, id])).toEqual([
      ['L1', 'y'],
    ])
  }
})
