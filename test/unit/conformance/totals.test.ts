import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { parseLimit } from '../../../src/core/limit.ts'

const MS = 1_000
const rule = (key: string, limit: string): HistoryEvent => ({
  type: 'limit',
  at: 0,
  key,
  limit: parseLimit(limit),
})
const admitted = (id: string, key: string, at = 0, cost = 1): HistoryEvent => ({
  type: 'answer',
  at,
  id,
  key,
  cost,
  accepted: true,
  departsAt: at,
})
const start = (id: string, key: string, at: number, cost = 1): HistoryEvent => ({
  type: 'start',
  at,
  id,
  key,
  cost,
  attempt: 1,
})
const breachesOf = (...history: HistoryEvent[]) =>
  checkHistory(
    history.toSorted((a, b) => a.at - b.at),
    { unfinished: true },
  ).map(({ law, message }) => `${law} ${message}`)

/** Jobs of these keys, which all wait from the beginning, and a start every 100 ms. */
function startsOf(order: readonly string[]): HistoryEvent[] {
  const jobs = order.map((key, nth) => admitted(`${nth}`, key))
  return [...jobs, ...order.map((key, nth) => start(`${nth}`, key, nth * 100 * MS))]
}

const EACH = '1000, 100/s'

test('a total that is exceeded is found, though each key keeps its own limit', () => {
  const history = [
    rule('a/', '100, 10/s'),
    rule('a/1', EACH),
    rule('a/2', EACH),
    admitted('x', 'a/1'),
    admitted('y', 'a/2'),
    start('x', 'a/1', 0),
  ]
  expect(breachesOf(...history, start('y', 'a/2', 95 * MS))).toEqual([])
  expect(breachesOf(...history, start('y', 'a/2', 94 * MS))).toEqual([
    'L2 key "a/": the start of job "y" at 0.094000 s came 94.000 ms after that of job "x", expected at least 95.000 ms',
  ])
})

test('the key before the slash belongs to the total, and one that only begins alike does not', () => {
  const history = [rule('a/', '100, 1/s'), rule('a/1', EACH), admitted('x', 'a/1'), start('x', 'a/1', 0)]
  const beside = (key: string) => [
    rule('a/1', EACH),
    rule(key, EACH),
    admitted('y', key),
    start('y', key, 100 * MS),
  ]
  expect(breachesOf(...history, ...beside('a'))).toHaveLength(1)
  expect(breachesOf(...history, ...beside('ab'))).toEqual([])
})

test('a quota, places and the bound of a total are judged over its family', () => {
  const quota = [
    rule('a/', '100, 10/s, 1/minute'),
    rule('a/1', EACH),
    rule('a/2', EACH),
    ...startsOf(['a/1', 'a/2']),
  ]
  expect(breachesOf(...quota).map((text) => text.slice(0, 4))).toEqual(['L10 '])
  const places = [rule('a/', '100, 10/s, 1 at once'), rule('a/1', EACH), rule('a/2', EACH)]
  expect(breachesOf(...places, ...startsOf(['a/1', 'a/2'])).map((text) => text.slice(0, 4))).toEqual(['L11 '])
  const ended: HistoryEvent = { type: 'end', at: 50 * MS, id: '0', outcome: 'completed' }
  expect(breachesOf(...places, ...startsOf(['a/1', 'a/2']), ended)).toEqual([])
  const bound = [rule('a/', '2, 10/s'), rule('a/1', EACH), rule('a/2', EACH)]
  expect(breachesOf(...bound, admitted('x', 'a/1'), admitted('y', 'a/2'))).toEqual([])
  expect(breachesOf(...bound, admitted('x', 'a/1'), admitted('y', 'a/2'), admitted('z', 'a/1'))).toEqual([
    'L1 key "a/": the acceptance of job "z" (cost 1) at 0.000000 s made 3 cost units wait, expected at most 2',
  ])
})

test('a start in a freeze or a pause of the family is found', () => {
  const history = [
    rule('a/', '100, 10/s'),
    rule('a/1', EACH),
    admitted('x', 'a/1'),
    start('x', 'a/1', 50 * MS),
  ]
  const freeze: HistoryEvent = { type: 'freeze', at: 0, key: 'a/', until: 60 * MS }
  expect(breachesOf(...history, freeze)).toHaveLength(1)
  expect(breachesOf(...history, { type: 'pause', at: 0, key: 'a/' })).toHaveLength(1)
})

const SHARED = [rule('a/', '1000, 10/s'), rule('a/1', EACH), rule('a/2', EACH)]

test('a child that gets more than its share while another could go is found', () => {
  // Two jobs each, and one for the family: three in a row are fair.
  expect(breachesOf(...SHARED, ...startsOf(['a/1', 'a/1', 'a/1', 'a/2']))).toEqual([])
  expect(breachesOf(...SHARED, ...startsOf(['a/1', 'a/1', 'a/1', 'a/1', 'a/2']))).toEqual([
    'L12 total "a/": with the start of job "3" at 0.300000 s, "a/1" had 400.000 ms of it more, for its weight, than "a/2" while both ' +
      'could go, expected at most 300.000 ms',
  ])
})

test('weights count', () => {
  const heavy = [rule('a/', '1000, 10/s'), rule('a/1', `${EACH}, weight 4`), rule('a/2', EACH)]
  const four = ['a/1', 'a/1', 'a/1', 'a/1', 'a/2']
  expect(breachesOf(...heavy, ...startsOf([...four, ...four, ...four]))).toEqual([])
  const turns = Array.from({ length: 20 }, () => ['a/1', 'a/2']).flat()
  expect(breachesOf(...heavy, ...startsOf(turns))[0]).toMatch(/^L12 .*"a\/2" had .* than "a\/1"/)
})

test('who could not go has no claim: no job, a freeze, a pause, its own pace', () => {
  const flood = Array.from({ length: 12 }, () => 'a/1')
  expect(breachesOf(...SHARED, ...startsOf(flood))).toEqual([])
  const waits = admitted('w', 'a/2')
  expect(breachesOf(...SHARED, ...startsOf(flood), waits).length).toBeGreaterThan(0)
  const frozen: HistoryEvent = { type: 'freeze', at: 0, key: 'a/2', until: 10_000 * MS }
  expect(breachesOf(...SHARED, ...startsOf(flood), waits, frozen)).toEqual([])
  expect(breachesOf(...SHARED, ...startsOf(flood), waits, { type: 'pause', at: 0, key: 'a/2' })).toEqual([])
  const slow = [rule('a/', '1000, 10/s'), rule('a/1', EACH), rule('a/2', '1000, 1 per 10 s')]
  const late = startsOf(['a/2', ...flood])
  expect(breachesOf(...slow, ...late, waits)).toEqual([])
})

test('children of a total below are one child, and share among each other', () => {
  const nested = [
    rule('a/', '1000, 10/s'),
    rule('a/x/', '1000, 100/s'),
    ...['a/x/1', 'a/x/2', 'a/3'].map((key) => rule(key, EACH)),
  ]
  const fair = Array.from({ length: 10 }, () => ['a/x/1', 'a/3', 'a/x/2', 'a/3']).flat()
  expect(breachesOf(...nested, ...startsOf(fair))).toEqual([])
  // Each key alike is twice as much for the family as for the one beside it.
  const alike = Array.from({ length: 10 }, () => ['a/x/1', 'a/3', 'a/x/2']).flat()
  expect(breachesOf(...nested, ...startsOf(alike))[0]).toMatch(/^L12 total "a\/": .*"a\/x\/" had/)
  const within = Array.from({ length: 10 }, () => [
    'a/x/1',
    'a/3',
    'a/x/1',
    'a/3',
    'a/x/1',
    'a/3',
    'a/x/2',
    'a/3',
  ]).flat()
  expect(breachesOf(...nested, ...startsOf(within))[0]).toMatch(/^L12 total "a\/x\/": .*"a\/x\/1" had/)
})

test('what a job uses is its share of the part of which it takes most', () => {
  const tokens = [rule('a/', '1000, 10/s, 1000 tokens/second 10 each'), rule('a/1', EACH), rule('a/2', EACH)]
  // Each takes half a second of tokens, five times as much as its call.
  const large = (id: string, key: string): HistoryEvent =>
    ({ ...admitted(id, key), costs: { tokens: 500 } }) as HistoryEvent
  const history = [
    large('0', 'a/1'),
    large('1', 'a/1'),
    ...Array.from({ length: 20 }, (_, nth) => admitted(`s${nth}`, 'a/2')),
  ]
  const starts = [
    start('0', 'a/1', 0),
    ...Array.from({ length: 11 }, (_, nth) => start(`s${nth}`, 'a/2', (nth + 1) * 100 * MS)),
  ]
  expect(breachesOf(...tokens, ...history, ...starts)).toEqual([])
  expect(breachesOf(...tokens, ...history, ...starts, start('s11', 'a/2', 1_200 * MS))[0]).toMatch(/^L12/)
})

describe('a settlement', () => {
  const TOKENS = [
    rule('a/', '1000, 10/s, 600 tokens/minute 1 each'),
    ...['a/1', 'a/2', 'a/3'].map((key) => rule(key, EACH)),
  ]
  const settle = (id: string, key: string, tokens: number): HistoryEvent => ({
    type: 'settle',
    at: 1 * MS,
    id,
    key,
    amounts: { tokens },
  })
  const times = (count: number, key: string) => Array.from({ length: count }, () => key)
  const unfair = (...history: HistoryEvent[]) =>
    breachesOf(...TOKENS, ...history).filter((text) => text.startsWith('L12'))

  test('makes the child wait for the others by what its job used more than was counted', () => {
    const fair = startsOf(['a/1', ...times(23, 'a/2'), 'a/1'])
    expect(breachesOf(...TOKENS, ...fair)[0]).toMatch(/^L12 .*"a\/2" had .* than "a\/1"/)
    expect(breachesOf(...TOKENS, ...fair, settle('0', 'a/1', 21))).toEqual([])
    // And no longer than that: 20 more, two jobs of its largest, and one of the other.
    const long = startsOf(['a/1', ...times(64, 'a/2'), 'a/1'])
    expect(breachesOf(...TOKENS, ...long, settle('0', 'a/1', 21))[0]).toMatch(
      /^L12 .*"a\/2" had .* than "a\/1"/,
    )
  })

  test('lets the child have more by what its job used less', () => {
    const estimate = { costs: { tokens: 20 } }
    const [first, ...others] = startsOf([...times(64, 'a/1'), 'a/2'])
    const history = [...TOKENS, { ...first!, ...estimate } as HistoryEvent, ...others]
    expect(breachesOf(...history).length).toBeGreaterThan(
      breachesOf(...history, settle('0', 'a/1', 1)).length,
    )
  })

  test('of both evens out: then one may not take all', () => {
    const order = [...Array.from({ length: 40 }, () => ['a/1', 'a/2']).flat(), ...times(100, 'a/1'), 'a/2']
    const settled = order
      .slice(0, 80)
      .map((key, nth) => ({ ...settle(`${nth}`, key, 21), at: nth * 100 * MS + 1 }))
    expect(unfair(...startsOf(order), ...settled)[0]).toMatch(/^L12 .*"a\/1" had .* than "a\/2"/)
  })

  test('counts for a child that comes when the other was alone, until all have rested', () => {
    const alone = startsOf(times(10, 'a/1'))
    const settled = times(10, 'a/1').map((key, nth) => ({ ...settle(`${nth}`, key, 61), at: 950 * MS }))
    const left = admitted('left', 'a/1', 950 * MS)
    const others = (from: number) =>
      times(300, 'a/2').flatMap((key, nth) => [
        admitted(`o${nth}`, key, from),
        start(`o${nth}`, key, from + nth * 100 * MS),
      ])
    const after = [...others(1_000 * MS), start('left', 'a/1', 31_000 * MS)]
    expect(unfair(...alone, ...settled, left, ...after)).toEqual([])
    const rested = [admitted('left', 'a/1', 60_000 * MS), ...others(60_000 * MS)]
    expect(unfair(...alone, ...settled, ...rested)[0]).toMatch(/^L12 .*"a\/2" had/)
  })

  test('counts still for a total below that goes and comes again', () => {
    const below = [rule('a/p/', EACH), rule('a/p/1', EACH)]
    const jobs = startsOf(['a/2', 'a/p/1', ...times(40, 'a/2'), 'a/p/1'])
    const again: HistoryEvent[] = [
      { type: 'unset', at: 150 * MS, key: 'a/p/' },
      { ...rule('a/p/', EACH), at: 151 * MS },
    ]
    const settled = { ...settle('1', 'a/p/1', 40), at: 101 * MS }
    expect(unfair(...below, ...jobs, settled, ...again)).toEqual([])
    expect(unfair(...below, ...jobs, ...again)[0]).toMatch(/^L12 .*"a\/2" had/)
  })

  test('counts for children that come later, once, and for the start with its fence alone', () => {
    const fair = startsOf(['a/1', ...times(23, 'a/2'), 'a/1'])
    const late = fair.map((event) =>
      event.type === 'answer' && event.key === 'a/2' ? { ...event, at: 2 * MS } : event,
    )
    const before = [...TOKENS, admitted('other', 'a/3', 0), start('other', 'a/3', 9_000 * MS)]
    expect(breachesOf(...before, ...late, settle('0', 'a/1', 21))).toEqual([])
    const other = { ...settle('0', 'a/1', 21), fence: 7 }
    const fenced = fair.map((event) => (event.type === 'start' ? { ...event, fence: 8 } : event))
    expect(breachesOf(...TOKENS, ...fenced, other).some((text) => text.startsWith('L12'))).toBe(true)
  })
})

test('a job that returned has a claim from the time on at which it may go', () => {
  const back: HistoryEvent = { type: 'return', at: 150 * MS, id: 'r', reason: 'retry', readyAt: 1_000 * MS }
  const history = [admitted('r', 'a/2'), start('r', 'a/2', 0), back]
  const flood = Array.from({ length: 14 }, (_, nth) => [
    admitted(`f${nth}`, 'a/1'),
    start(`f${nth}`, 'a/1', (nth + 1) * 100 * MS),
  ]).flat()
  const found = breachesOf(...SHARED, ...history, ...flood)
  expect(found[0]).toMatch(/^L12 .*at 1\.300000 s/)
  const unfrozen: HistoryEvent[] = [
    { type: 'freeze', at: 200 * MS, key: 'a/2', until: 9_000 * MS },
    { type: 'unfreeze', at: 1_050 * MS, key: 'a/2' },
  ]
  expect(breachesOf(...SHARED, ...history, ...flood, ...unfrozen)[0]).toMatch(/^L12 .*at 1\.400000 s/)
  const ended: HistoryEvent = { type: 'end', at: 300 * MS, id: 'r', outcome: 'cancelled' }
  expect(breachesOf(...SHARED, ...history, ...flood, ended)).toEqual([])
})

test('what may be handed over and not have started is allowed beyond the shares', () => {
  const history = [
    rule('a/', '1000, 10/s'),
    rule('a/1', EACH),
    rule('a/2', EACH),
    ...['a/1', 'a/2'].flatMap((key) => Array.from({ length: 9 }, (_, n) => admitted(`${key}${n}`, key))),
    ...Array.from({ length: 6 }, (_, n) => start(`a/1${n}`, 'a/1', (n + 1) * 100 * MS)),
  ]
  const breaches = (handed: number) =>
    checkHistory(history, { unfinished: true, handed }).filter(({ law }) => law === 'L12').length
  expect(breaches(0)).toBe(3)
  expect(breaches(100 * MS)).toBe(1)
  expect(breaches(150 * MS)).toBe(0)
})

test('a child that warms up has no claim', () => {
  const warming = [rule('a/', '1000, 10/s'), rule('a/1', EACH), rule('a/2', `${EACH}, warm-up 9 s from 1/s`)]
  const flood = startsOf(['a/2', ...Array.from({ length: 9 }, () => 'a/1')])
  expect(breachesOf(...warming, ...flood, admitted('w', 'a/2'))).toEqual([])
})

test('the largest job of a child counts although a total beside it is seen first after it', () => {
  const beside: HistoryEvent[] = [
    { ...rule('a/x/', '1000, 10/s'), at: 100 * MS },
    { ...rule('a/x/1', EACH), at: 100 * MS },
  ]
  const first = [admitted('l', 'a/1', 0, 3), start('l', 'a/1', 0, 3)]
  const ended: HistoryEvent = { type: 'end', at: 50 * MS, id: 'l', outcome: 'completed' }
  const row = Array.from({ length: 9 }, (_, n) => [
    admitted(`r${n}`, 'a/x/1', 100 * MS),
    start(`r${n}`, 'a/x/1', (300 + 100 * n) * MS),
  ]).flat()
  const waits = admitted('w', 'a/1', 100 * MS)
  // Three of the child, three of the family, and one of its own.
  const found = breachesOf(
    rule('a/', '1000, 10/s'),
    rule('a/1', EACH),
    ...first,
    ended,
    ...beside,
    ...row,
    waits,
  )
  expect(found.map((text) => text.slice(0, 48))).toEqual([
    'L12 total "a/": with the start of job "r7" at 1.',
    'L12 total "a/": with the start of job "r8" at 1.',
  ])
})

test('a total that is set while its family is at work holds from then on, and counts what waits and runs', () => {
  const before = [
    rule('a/1', EACH),
    rule('a/2', EACH),
    rule('a/3', EACH),
    ...startsOf(['a/1', 'a/2', 'a/3']),
  ].map((event) => (event.type === 'start' ? { ...event, at: event.at / 100 } : event))
  const set = (limit: string): HistoryEvent => ({ ...rule('a/', limit), at: 3 * MS })
  const laws = (limit: string, ...after: HistoryEvent[]) =>
    breachesOf(...before, set(limit), ...after).map((text) => text.slice(0, 3).trim())
  const next = [admitted('n', 'a/2', 4 * MS), start('n', 'a/2', 200 * MS)]
  expect(laws('9, 10/s', ...next)).toEqual([])
  expect(laws('9, 10/s', ...next, admitted('m', 'a/1', 5 * MS), start('m', 'a/1', 210 * MS))).toEqual(['L2'])
  expect(laws('9, 10/s, 3 at once', ...next)).toEqual(['L11'])
  const waits = [admitted('v', 'a/1', 2 * MS), admitted('w', 'a/2', 4 * MS)]
  expect(laws('2, 10/s', ...waits)).toEqual([])
  expect(laws('1, 10/s', ...waits)).toEqual(['L1'])
})

test('a total holds until it is unset, and again from when it is set', () => {
  const at = (ms: number, event: HistoryEvent): HistoryEvent => ({ ...event, at: ms * MS })
  const unset = (ms: number, key: string): HistoryEvent => ({ type: 'unset', at: ms * MS, key })
  const gone = [rule('a/', '2, 10/s, 2 at once'), rule('a/1', EACH), unset(150, 'a/')]
  const jobs = (from: number, to: number) =>
    Array.from({ length: 4 }, (_, n) => admitted(`${from}-${n}`, 'a/1', from * MS)).concat(
      Array.from({ length: 4 }, (_, n) => start(`${from}-${n}`, 'a/1', (from + n * ((to - from) / 4)) * MS)),
    )
  const laws = (...events: HistoryEvent[]) => [
    ...new Set(breachesOf(...gone, ...events).map((text) => text.slice(0, 3).trim())),
  ]
  expect(laws(...jobs(200, 240))).toEqual([])
  expect(laws(...jobs(100, 140))).toEqual(['L1', 'L2', 'L11'])
  // It is exceeded in its second time, and what went before does not count.
  const again = at(240, rule('a/', '2, 10/s'))
  expect(laws(...jobs(200, 240), again, ...jobs(300, 700))).toEqual(['L1'])
  expect(laws(...jobs(200, 240), again, admitted('n', 'a/1', 245 * MS), start('n', 'a/1', 245 * MS))).toEqual(
    [],
  )
  expect(laws(...jobs(200, 240), again, ...jobs(300, 340))).toEqual(['L1', 'L2'])
})

test('the children of a total that was unset share the one above it themselves', () => {
  const unset: HistoryEvent = { type: 'unset', at: 0, key: 'a/x/' }
  const nested = [
    rule('a/', '1000, 10/s'),
    rule('a/x/', '1000, 10/s'),
    rule('a/1', EACH),
    rule('a/x/1', EACH),
    rule('a/x/2', EACH),
  ]
  const turns = Array.from({ length: 8 }, () => ['a/1', 'a/x/1', 'a/x/2']).flat()
  expect(breachesOf(...nested, ...startsOf(turns))[0]).toMatch(/^L12 .*"a\/x\/" had/)
  expect(breachesOf(...nested, unset, ...startsOf(turns))).toEqual([])
})
