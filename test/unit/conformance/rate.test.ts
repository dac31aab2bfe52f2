import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import {
  accept,
  end,
  fault,
  freeze,
  inOrder,
  limit,
  pause,
  quota,
  resume,
  run,
  settle,
  start,
} from '../../support/history.ts'

const busy = { minUtilisation: 0.999 }

/** `count` jobs that all wait from 0 on; the n-th starts at `at(n)`. */
function stream(count: number, at: (n: number) => number, key = 'a'): HistoryEvent[] {
  return Array.from({ length: count }, (_, n) => run(at(n), `${key}${n}`, { key })).flat()
}

const rule = limit(0, '99, 10/s')
const l3 = (...events: (HistoryEvent | HistoryEvent[])[]) => checkHistory(inOrder(rule, ...events), busy)

test('a stream at the configured rate conforms', () => {
  expect(l3(stream(20, (n) => n * 100))).toEqual([])
})

test('a slow stream with work at every slot breaks L3 with its numbers', () => {
  expect(l3(stream(21, (n) => n * 125))).toEqual([
    {
      law: 'L3',
      at: 2_500_000,
      key: 'a',
      message:
        'key "a": 21 departures with work at every slot, from 0.000000 s to 2.500000 s, had 80.00 % of the ' +
        'configured rate, expected at least 99.90 %',
    },
  ])
})

test('without minUtilisation the rate is not judged', () => {
  expect(
    checkHistory(
      inOrder(
        rule,
        stream(21, (n) => n * 125),
      ),
    ),
  ).toEqual([])
})

test('fewer than 20 departures are not judged', () => {
  expect(l3(stream(19, (n) => n * 125))).toEqual([])
  expect(l3(stream(20, (n) => n * 125))).toHaveLength(1)
})

test('a job of cost 3 is due three intervals', () => {
  const costly = (gap: number) =>
    Array.from({ length: 20 }, (_, n) => run(n * gap, `j${n}`, { cost: 3 })).flat()
  expect(l3(costly(300))).toEqual([])
  expect(l3(costly(400)).map(({ law }) => law)).toEqual(['L3'])
})

test('a slot for which no job waited ends the stretch', () => {
  const jobs = (from: number) =>
    Array.from({ length: 30 }, (_, n) => run(n * 125, `j${n}`, { from: n < 15 ? 0 : from })).flat()
  expect(l3(jobs(1_850))).toHaveLength(1)
  expect(l3(jobs(1_851))).toEqual([])
})

test('a freeze, a pause and a change of limit end the stretch', () => {
  const slow = stream(30, (n) => n * 125)
  expect(l3(slow)).toHaveLength(1)
  expect(l3(slow, freeze(1_890, 1_895))).toEqual([])
  expect(l3(slow, pause(1_890), resume(1_891))).toEqual([])
  expect(l3(slow, limit(1_890, '99, 10/s'))).toEqual([])
})

test('while every handler is busy nothing is required', () => {
  const held = inOrder(
    rule,
    Array.from({ length: 25 }, (_, n) => [
      accept(0, `j${n}`),
      start(n * 125, `j${n}`),
      end(n * 125 + 120, `j${n}`),
    ]).flat(),
  )
  expect(checkHistory(held, { ...busy, concurrency: 1 })).toEqual([])
  expect(checkHistory(held, { ...busy, concurrency: 2 })).toHaveLength(1)
})

test('the handlers of all keys count together', () => {
  const other = [limit(0, '99, 10/s', 'b'), accept(0, 'long', { key: 'b' }), start(0, 'long', { key: 'b' })]
  const history = inOrder(
    rule,
    other,
    stream(25, (n) => n * 125),
    end(9_000, 'long'),
  )
  expect(checkHistory(history, { ...busy, concurrency: 1 })).toEqual([])
  expect(checkHistory(history, { ...busy, concurrency: 2 }).map(({ key }) => key)).toEqual(['a'])
})

test('an end of a job that did not run frees no handler', () => {
  const history = inOrder(
    rule,
    stream(25, (n) => n * 125),
    accept(0, 'c'),
    end(10, 'c', 'cancelled'),
  )
  expect(checkHistory(history, { ...busy, concurrency: 2 })).toHaveLength(1)
})

test('the restart of a job hit by a fault ends the stretch, since it is unknown when it was ready', () => {
  const parts = inOrder(
    rule,
    stream(12, (n) => n * 125),
    [accept(0, 'x'), start(1_500, 'x'), fault(1_501, 'x'), start(1_625, 'x'), end(1_626, 'x')],
    Array.from({ length: 12 }, (_, n) => run(1_750 + n * 125, `late${n}`)).flat(),
  )
  expect(checkHistory(parts, busy)).toEqual([])
})

test('a start before the first limit, or of an unknown job, is no part of a stretch', () => {
  const unlimited = stream(25, (n) => n * 125).filter(({ type }) => type !== 'limit')
  expect(checkHistory(inOrder(unlimited), busy).filter(({ law }) => law === 'L3')).toEqual([])
  const strangers = Array.from({ length: 25 }, (_, n) => start(n * 125, `s${n}`))
  expect(checkHistory([rule, ...strangers], busy).filter(({ law }) => law === 'L3')).toEqual([])
})

/** Jobs that all wait from 0 on, each of which runs for 250 ms. */
function slow(
  count: number,
  at: (n: number) => number,
  ...leave: ((at: number, id: string) => HistoryEvent)[]
) {
  return Array.from({ length: count }, (_, n) => {
    const id = `s${n}`
    return [accept(0, id), start(at(n), id), ...leave.map((event) => event(at(n) + 250, id))]
  }).flat()
}

/** The breaches of the rate alone, under these parts of a limit. */
const under = (parts: Parameters<typeof limit>[3], ...events: HistoryEvent[][]) =>
  checkHistory(inOrder(limit(0, '99, 10/s', 'a', parts), ...events), { ...busy, unfinished: true })

test('nothing is required while a quota may have no room', () => {
  // Two in each second: the third may come when the part of the window in which the first started has passed.
  const inPairs = (second: number) => stream(40, (n) => Math.floor(n / 2) * second + (n % 2) * 100)
  const two = { quotas: [quota(2, 1_000)] }
  expect(under(two, inPairs(1_000))).toEqual([])
  expect(under(two, inPairs(1_017))).toEqual([])
  expect(under({}, inPairs(1_017)).map(({ law }) => law)).toEqual(['L3'])
  expect(under({ quotas: [quota(200, 1_000)] }, inPairs(1_017)).map(({ law }) => law)).toEqual(['L3'])
})

test('a quota requires the rate again once a settling has made room', () => {
  const tokens = { quotas: [quota(130, 1_000, 'tokens', 70)] }
  const settled = (n: number, at: number) => settle(at, `a${n}`, { tokens: 1 })
  const jobs = stream(30, (n) => n * 125)
  const within = (ms: number) =>
    inOrder(
      jobs.filter(({ type }) => type !== 'end'),
      Array.from({ length: 30 }, (_, n) => settled(n, n * 125 + ms)),
    )
  expect(under(tokens, within(1)).map(({ law }) => law)).toEqual(['L3'])
  expect(under(tokens, within(124))).toEqual([])
})

test('nothing is required while every place is taken', () => {
  const one = slow(30, (n) => n * 255, end)
  expect(under({ concurrency: 1 }, one)).toEqual([])
  expect(under({ concurrency: 2 }, one).map(({ law }) => law)).toEqual(['L3'])
  expect(under({}, one).map(({ law }) => law)).toEqual(['L3'])
})

test('nothing is required while a lease of a crashed attempt may hold a place', () => {
  const crashed = [accept(0, 'x'), start(0, 'x'), fault(1, 'x')]
  const others = stream(30, (n) => 500 + n * 125)
  expect(under({ concurrency: 1 }, crashed, others)).toEqual([])
  expect(under({ concurrency: 2 }, crashed, others).map(({ law }) => law)).toEqual(['L3'])
})
