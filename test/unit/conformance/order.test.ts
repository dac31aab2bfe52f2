import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { accept, end, fault, giveBack, inOrder, limit, run, start } from '../../support/history.ts'

const open = { unfinished: true }
const rule = limit(0, '2000, 10/s')
const overtakers = (...events: (HistoryEvent | HistoryEvent[])[]) =>
  checkHistory(inOrder(rule, ...events), open).map(({ law, id }) => [law, id])

test('first starts in the order of the verdicts conform', () => {
  expect(overtakers(run(100, 'x'), run(200, 'y', { from: 1 }), run(300, 'z', { from: 2 }))).toEqual([])
})

test('a job that overtook breaks L4 with its numbers', () => {
  const history = inOrder(rule, run(200, 'x', { from: 10 }), run(100, 'y', { from: 25 }))
  expect(checkHistory(history)).toEqual([
    {
      law: 'L4',
      at: 100_000,
      key: 'a',
      id: 'y',
      message:
        'key "a": job "y", started at 0.100000 s, overtook job "x", admitted 15.000 ms before it, ' +
        'which started 100.000 ms later, expected the order of admission',
    },
  ])
})

test('each job that overtook is one breach, and names the first of those it overtook', () => {
  const history = [
    ...['v', 'w', 'x', 'y', 'z'].map((id) => accept(0, id)),
    ...['v', 'z', 'w', 'y', 'x'].map((id, n) => start(n * 100, id)),
  ]
  const breaches = checkHistory([rule, ...history], open)
  expect(breaches.map(({ id }) => id)).toEqual(['z', 'y'])
  expect(breaches[0]?.message).toContain('overtook job "w"')
  expect(breaches[1]?.message).toContain('overtook job "x"')
})

test('a job that still waits counts as overtaken, too', () => {
  const breaches = checkHistory([rule, accept(0, 'x'), accept(1, 'y'), start(100, 'y')], open)
  expect(breaches.map(({ law, id }) => [law, id])).toEqual([['L4', 'y']])
  expect(breaches[0]?.message).toContain('which has not started')
})

test('the number of the admission decides if all have one', () => {
  const numbered = (x: number | undefined) => [
    x === undefined ? accept(0, 'x') : accept(0, 'x', { seq: x }),
    accept(0, 'y', { seq: 1 }),
    start(0, 'y'),
    start(100, 'x'),
  ]
  expect(overtakers(numbered(2))).toEqual([])
  expect(overtakers(numbered(0))).toEqual([['L4', 'y']])
  expect(overtakers(numbered(undefined))).toEqual([['L4', 'y']])
})

test('each key has its own line', () => {
  const other = [limit(0, '9, 10/s', 'b'), ...run(50, 'y', { key: 'b', from: 1 })]
  expect(overtakers(run(100, 'x'), other)).toEqual([])
})

test('a job that was cancelled or expired in the line was not overtaken', () => {
  const gone = (outcome: 'cancelled' | 'expired') => [
    accept(0, 'x'),
    accept(1, 'y'),
    start(100, 'y'),
    end(150, 'x', outcome),
  ]
  expect(overtakers(gone('cancelled'))).toEqual([])
  expect(overtakers(gone('expired'))).toEqual([])
})

test('a job that returned counts with its first start', () => {
  const back = (reason: 'retry' | 'freeze', attempt: number) => [
    accept(0, 'x'),
    accept(1, 'y'),
    start(100, 'x'),
    giveBack(101, 'x', reason),
    start(200, 'y'),
    start(300, 'x', { attempt }),
  ]
  expect(overtakers(back('retry', 2))).toEqual([])
  expect(overtakers(back('freeze', 1))).toEqual([])
})

test('a job hit by a fault in the line may be overtaken', () => {
  expect(
    overtakers(accept(0, 'x'), accept(1, 'y'), fault(50, 'x'), start(100, 'y'), start(200, 'x')),
  ).toEqual([])
})

test('a thousand overtakers are a thousand breaches', () => {
  const ids = Array.from({ length: 1_001 }, (_, n) => `j${n}`)
  const accepted = ids.map((id) => accept(0, id))
  const started = ids.toReversed().map((id, n) => start(n * 100, id))
  expect(checkHistory([rule, ...accepted, ...started], open)).toHaveLength(1_000)
})
