import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import {
  accept,
  end,
  freeze,
  inOrder,
  limit,
  pause,
  resume,
  run,
  start,
  unfreeze,
} from '../../support/history.ts'

const open = { unfinished: true }
const laws = (history: HistoryEvent[], settle = 0) =>
  checkHistory(history, { settle }).map(({ law, id }) => [law, id])

test('starts an interval apart conform, and so do late ones', () => {
  const history = inOrder(limit(0, '9, 10/s'), run(0, 'x'), run(100, 'y'), run(230, 'z'), run(330, 'w'))
  expect(checkHistory(history)).toEqual([])
})

test('an early start breaks L2 with its numbers', () => {
  const history = inOrder(
    limit(0, '9, 10/s'),
    run(12_333.378, 'w', { from: 12_000 }),
    run(12_345.678, 'x', { from: 12_001 }),
  )
  expect(checkHistory(history)).toEqual([
    {
      law: 'L2',
      at: 12_345_678,
      key: 'a',
      id: 'x',
      message:
        'key "a": the start of job "x" at 12.345678 s came 12.300 ms after that of job "w", ' +
        'expected at least 95.000 ms',
    },
  ])
})

test('a start may be early by the tolerance and a microsecond of rounding, no more', () => {
  const second = (at: number) => inOrder(limit(0, '9, 10/s'), run(0, 'x'), run(at, 'y'))
  expect(laws(second(94.999))).toEqual([])
  expect(laws(second(94.998))).toEqual([['L2', 'y']])
})

test('earliness adds up: each start does not get the whole tolerance again', () => {
  const history = inOrder(limit(0, '9, 10/s'), run(0, 'x'), run(96, 'y'), run(192, 'z'))
  expect(laws(history)).toEqual([['L2', 'z']])
})

test('an idle moment does not give the tolerance back', () => {
  const times = Array.from({ length: 40 }, (_, index) => index * 75)
  const jobs = times.map((at, index) => run(at, `j${index}`, { from: at }))
  const history = [limit(0, '9, 10/s, tolerance 25ms'), ...jobs.flat()]
  const early = checkHistory(history).filter(({ law }) => law === 'L2')
  expect(early[0]).toMatchObject({ id: 'j2' })
  expect(early[0]?.message).toContain('came 75.000 ms after that of job "j1", expected at least 100.000 ms')
  // The third of each three.
  expect(early.length).toBe(13)
})

test('earliness that an old tolerance allowed is not counted after an idle moment', () => {
  const history = (at: number) =>
    inOrder(
      limit(0, '9, 10/s, tolerance 25ms'),
      run(0, 'x'),
      limit(80, '9, 20/s, tolerance 0'),
      run(at, 'y', { from: 79 }),
    )
  expect(laws(history(81))).toEqual([])
})

test('one start too many is one breach, and the stream around it conforms', () => {
  const history = inOrder(limit(0, '9, 10/s'), run(0, 'w'), run(50, 'x'), run(100, 'y'), run(200, 'z'))
  expect(laws(history)).toEqual([['L2', 'x']])
})

test('the start after a job of cost 3 is three intervals away', () => {
  const after = (at: number) => inOrder(limit(0, '9, 10/s'), run(0, 'x', { cost: 3 }), run(at, 'y'))
  expect(laws(after(300))).toEqual([])
  expect(laws(after(290))).toEqual([['L2', 'y']])
})

test('keys do not space each other', () => {
  const history = inOrder(
    limit(0, '9, 10/s'),
    limit(0, '9, 10/s', 'b'),
    run(0, 'x'),
    run(1, 'y', { key: 'b' }),
  )
  expect(laws(history)).toEqual([])
})

test('a start before the first limit breaks L2', () => {
  const breaches = checkHistory([accept(0, 'x'), start(1, 'x')], open)
  expect(breaches.map(({ law }) => law)).toEqual(['L1', 'L2'])
  expect(breaches[1]?.message).toBe(
    'key "a": the start of job "x" at 0.001000 s came before the key had a limit, expected none',
  )
})

test('a new limit counts from the last start', () => {
  const changed = (text: string, at: number) =>
    inOrder(limit(0, '9, 10/s'), run(0, 'x'), limit(10, text), run(at, 'y'))
  expect(laws(changed('9, 1/s', 1_000))).toEqual([])
  expect(laws(changed('9, 1/s', 100))).toEqual([['L2', 'y']])
  expect(laws(changed('9, 100/s', 11))).toEqual([])
})

test('an idle key may be forgotten, and a new limit then counts from nothing', () => {
  const idle = (changedAt: number) =>
    inOrder(limit(0, '9, 10/s'), run(0, 'x'), limit(changedAt, '9, 1/s'), run(120, 'y', { from: 110 }))
  expect(laws(idle(96))).toEqual([])
  expect(laws(idle(94))).toEqual([['L2', 'y']])
  expect(laws(inOrder(idle(100), accept(50, 'z'), end(130, 'z', 'cancelled')))).toEqual([['L2', 'y']])
  expect(laws(inOrder(idle(98), accept(97, 'z'), end(130, 'z', 'cancelled')))).toEqual([])
  expect(laws(inOrder(idle(100), freeze(90, 110)))).toEqual([['L2', 'y']])
})

test('earliness that the old tolerance allowed does not count under a narrower one', () => {
  const early = inOrder(limit(0, '9, 10/s'), run(0, 'x'), run(95, 'y'), limit(96, '9, 500/s'))
  expect(laws(inOrder(early, run(97, 'z')))).toEqual([])
  expect(laws(inOrder(early, run(96.4, 'z')))).toEqual([['L2', 'z']])
})

test('while a change settles, a start may conform to the limit before', () => {
  const slower = [limit(0, '9, 10/s'), ...run(0, 'x'), limit(50, '9, 1/s')]
  const faster = [limit(0, '9, 1/s'), ...run(0, 'x'), limit(50, '9, 10/s')]
  expect(laws([...slower, ...run(100, 'y', { from: 60 })], 60_000)).toEqual([])
  expect(laws([...slower, ...run(100, 'y', { from: 60 })], 40_000)).toEqual([['L2', 'y']])
  expect(laws([...faster, ...run(100, 'y', { from: 60 })], 60_000)).toEqual([])
})

test('while a change settles, the same limit must allow both the gap and the warmth of a start', () => {
  const warming = '20, 70/s, warm-up 1500ms from 10/s'
  const change = [limit(0, warming), limit(0, '12, 4000/s, tolerance 1ms')]
  const pair = (gap: number) => [...run(0, 'x'), ...run(gap, 'y', { from: gap })]
  expect(laws([...change, ...pair(6.25)], 40_001)).toEqual([])
  expect(laws([...change, ...run(0, 'x'), ...run(6.25, 'y')], 40_001)).toEqual([])
  const slow = [limit(0, warming), limit(0, '12, 5/s')]
  expect(laws([...slow, ...pair(97)], 200_000)).toEqual([])
  expect(laws([...slow, ...pair(97)])).toEqual([['L2', 'y']])
  const twoWarm = [limit(0, warming), ...run(0, 'w'), limit(1, '12, 100/s, warm-up 2s from 2/s')]
  const from = { from: 200 }
  // What is too soon for the gap of the one may only be too cold for the other.
  expect(laws([...twoWarm, ...run(200, 'x', from), ...run(209, 'y', from)], 400_000)).toEqual([])
  expect(laws([...twoWarm, ...run(200, 'x', from), ...run(206, 'y', from)], 400_000)).toEqual([['L2', 'y']])
})

test('after starts under the limit before, the new one counts from the last of them', () => {
  const settled = [
    limit(0, '9, 10/s'),
    ...run(0, 'w'),
    limit(50, '9, 1/s'),
    ...run(100, 'x', { from: 60 }),
    ...run(200, 'y', { from: 102 }),
  ]
  expect(laws([...settled, ...run(1_200, 'z', { from: 202 })], 160_000)).toEqual([])
  expect(laws([...settled, ...run(1_100, 'z', { from: 202 })], 160_000)).toEqual([['L2', 'z']])
})

test('a lifted freeze stops no start, and a later one does', () => {
  const lifted = inOrder(limit(0, '9, 10/s'), run(0, 'w'), freeze(1, 900), unfreeze(200))
  expect(laws([...lifted, ...run(200, 'x', { from: 100 })])).toEqual([])
  expect(laws([...lifted, ...run(90, 'x', { from: 80 })])).toEqual([['L2', 'x']])
  expect(laws([...lifted, freeze(210, 400), ...run(300, 'x', { from: 250 })])).toEqual([['L2', 'x']])
})

test('a start while the key is frozen breaks L2, and a shorter freeze does not shorten it', () => {
  const history = inOrder(limit(0, '9, 10/s'), freeze(1, 500), freeze(2, 100), run(300, 'x'), run(500, 'y'))
  expect(checkHistory(history)).toEqual([
    {
      law: 'L2',
      at: 300_000,
      key: 'a',
      id: 'x',
      message:
        'key "a": the start of job "x" at 0.300000 s came while the key was frozen, expected 0.500000 s or later, ' +
        '200.000 ms later',
    },
  ])
})

test('a start while the key is paused breaks L2', () => {
  const history = [
    limit(0, '9, 10/s'),
    accept(0, 'x'),
    pause(1),
    pause(2),
    start(3, 'x'),
    end(4, 'x'),
    resume(5),
  ]
  const breaches = checkHistory([...history, ...run(200, 'y', { from: 100 })])
  expect(breaches.map(({ law, id }) => [law, id])).toEqual([['L2', 'x']])
  expect(breaches[0]?.message).toContain(
    'while the key was paused since 0.001000 s, expected none before a resume',
  )
})

test('any window W contains at most 1 + (W + tolerance) / interval conforming starts', () => {
  const { interval, tolerance } = parseLimit('9, 10/s')
  const gaps = fc.array(fc.double({ min: 90, max: 130, noNaN: true }), { minLength: 2, maxLength: 40 })
  fc.assert(
    fc.property(gaps, (lengths) => {
      let at = 0
      const starts = lengths.map((length, index) => {
        at += length
        return start(at, `j${index}`)
      })
      const early = new Set(
        checkHistory([limit(0, '9, 10/s'), ...starts], open)
          .filter(({ law }) => law === 'L2')
          .map(({ id }) => id),
      )
      const times = starts.filter((event) => 'id' in event && !early.has(event.id)).map((event) => event.at)
      for (const [from, first] of times.entries()) {
        for (const [to, last] of times.entries()) {
          if (to < from) continue
          expect(to - from + 1).toBeLessThanOrEqual(1 + (last - first + tolerance + 1) / interval + 1e-9)
        }
      }
    }),
  )
})

test('at the present epoch a long series of uneven intervals is counted without drift', () => {
  const epoch = 1.8e15
  const count = 200_000
  const key = 'a'
  const starts = Array.from({ length: count }, (_, index): HistoryEvent => {
    const at = epoch + Math.ceil((index * 1e6) / 3_000)
    return { type: 'start', at, id: 'x', key, cost: 1, attempt: 1 }
  })
  const rule: HistoryEvent = { type: 'limit', at: epoch, key, limit: parseLimit('9, 3000/s, tolerance 1ms') }
  const of = (events: HistoryEvent[]) =>
    checkHistory([rule, ...events], open).filter(({ law }) => law === 'L2')
  expect(of(starts)).toEqual([])
  const faster = starts.map((event, index) => ({ ...event, at: event.at - index * 0.01 }))
  expect(of(faster).length).toBeGreaterThan(0)
})

test('the spacing is judged by the clocks that handlers read, if they did', () => {
  const startRead = (at: number, readAt: number, id: string): HistoryEvent[] => [
    accept(0, id),
    { type: 'start', at: at * 1_000, readAt: readAt * 1_000, id, key: 'a', cost: 1, attempt: 1 },
    end(at + 50, id),
  ]
  const second = (readAt: number) =>
    inOrder(limit(0, '9, 10/s'), startRead(100, 104, 'x'), startRead(200, readAt, 'y'))
  expect(laws(second(204))).toEqual([])
  expect(laws(second(199))).toEqual([])
  expect(laws(second(198.9))).toEqual([['L2', 'y']])
})
