import { expect, test } from 'vitest'
import { judgeLosses } from '../support/campaign/seeded/judge-losses.ts'
import { accept, audit, end, fault, limit, reject, start } from '../support/history.ts'

// The store dies at 1,000 ms, is back at 1,100 ms, and may have lost what it decided from 500 ms on.
const LOSSES = [{ from: 500_000, at: 1_000_000, to: 1_100_000 }]
const breachesOf = (...events: ReturnType<typeof accept>[]) =>
  judgeLosses([limit(0, '2, 10/s'), ...events], LOSSES).map(({ law }) => law)

test('what a loss explains is excused', () => {
  // "x" is gone; "y" had ended, and runs once more.
  const before = [accept(560, 'y'), start(600, 'y'), end(610, 'y'), accept(650, 'x')]
  expect(breachesOf(...before, start(1_200, 'y'), end(1_210, 'y'))).toEqual([])
})

test('a slot that was granted before the death may be used when the store is back, and is forgotten there', () => {
  const twice = (first: number) =>
    breachesOf(accept(10, 'x'), start(first, 'x'), end(first + 50, 'x'), start(1_900, 'x'), end(1_950, 'x'))
  expect(twice(1_200)).toEqual([])
  expect(twice(1_500)).toContain('L5')
})

test('a start too early is not', () => {
  expect(
    breachesOf(
      accept(1, 'x'),
      accept(2, 'y'),
      start(1_200, 'x'),
      start(1_250, 'y'),
      end(1_300, 'x'),
      end(1_300, 'y'),
    ),
  ).toEqual(['L2'])
})

test('all is judged until the store dies, also of what it lost then', () => {
  const room = [accept(510, 'x'), accept(511, 'y'), accept(512, 'z')]
  expect(breachesOf(...room)).toEqual(['L1'])
  expect(breachesOf(reject(600, 'x', { retryAt: 700 }))).toEqual(['L1'])
  expect(breachesOf(accept(510, 'x'), accept(511, 'y'), start(600, 'y'))).toEqual(['L4'])
  expect(breachesOf(accept(510, 'x'), start(600, 'x'), start(900, 'x'))).toEqual(['L5'])
})

test('what was decided before the loss may not be lost', () => {
  expect(breachesOf(accept(10, 'x'))).toEqual(['L5'])
  expect(breachesOf(accept(10, 'x'), start(20, 'x'), end(30, 'x'), start(1_200, 'x'))).toEqual(['L5'])
})

test('jobs that come when the store is back are judged as any others', () => {
  const [x, y, z] = ['x', 'y', 'z'].map((id, n) => accept(1_200 + n, id))
  const starts = ['x', 'y', 'z'].map((id, n) => start(1_300 + 100 * n, id))
  const ends = ['x', 'y', 'z'].map((id) => end(1_800, id))
  expect(breachesOf(x!, y!, ...starts.slice(0, 2), ...ends.slice(0, 2))).toEqual([])
  expect(breachesOf(x!, y!, z!, ...starts, ...ends)).toEqual(['L1'])
  expect(breachesOf(x!, y!, start(1_300, 'y'), start(1_400, 'x'), ...ends.slice(0, 2))).toEqual(['L4'])
  expect(breachesOf(x!, start(1_300, 'x'))).toEqual(['L5'])
  expect(
    breachesOf(x!, start(1_300, 'x'), fault(1_310, 'x'), start(1_400, 'x'), start(1_500, 'x'), ends[0]!),
  ).toEqual(['L5'])
})

test('an audit may count what was lost, and balances', () => {
  const counts = { admitted: 0, waiting: 0, handed: 0, running: 0, retrying: 0, ended: 0 }
  expect(breachesOf(accept(600, 'x'), audit(2_000, counts))).toEqual([])
  expect(breachesOf(accept(600, 'x'), audit(2_000, { ...counts, admitted: 1 }))).toEqual(['L9'])
})

test('what may have been admitted by a call without an answer takes room from others', () => {
  const history = [limit(0, '2, 10/s'), reject(990, 'x', { retryAt: 1_200 })]
  expect(judgeLosses(history, LOSSES)).toHaveLength(1)
  expect(judgeLosses(history, LOSSES, { unansweredFrom: 980_000 })).toEqual([])
})
