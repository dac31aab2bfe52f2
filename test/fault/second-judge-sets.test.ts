import { expect, test } from 'vitest'
import { judgeAgain } from '../support/campaign/second-judge/judge-again.ts'
import { KEY } from '../support/campaign/second-judge/pretend-line.ts'
import type { Call, End, Finding, Start, Testimony } from '../support/campaign/second-judge/testimony.ts'

const MS = 1_000
const ask = (at: number, id: string, answer = 'accepted', more: Partial<Call> = {}): Call => {
  return { do: 'admit', key: KEY, id, cost: 1, from: at - 100, to: at + 100, answer, place: 0, ...more }
}
const end = (seenAt: number, id: string): End => ({ seenAt, id, outcome: 'completed' })
const EMPTY = { returns: [], faults: [], crashes: [], lag: 0, moves: [], losses: [] } as const

/** Three in a second, eight tokens in it, and two at once; nothing else binds. */
const SET = {
  capacity: 9,
  interval: 1 * MS,
  tolerance: 0,
  quotas: [
    { amount: 3, window: { length: 1_000 * MS } },
    { amount: 8, unit: 'tokens', each: 2, window: { length: 1_000 * MS } },
  ],
  concurrency: 2,
}
const ran = (at: number, id: string, fence: number, forMs = 5, more: Partial<Start> = {}): Start => {
  return {
    at: at * MS,
    process: 'w',
    key: KEY,
    id,
    cost: 1,
    attempt: 1,
    fence,
    until: (at + forMs) * MS,
    ...more,
  }
}
const said = (id: string, fence: number, at: number, tokens: number, answer: boolean | 'unknown' = true) => {
  return { id, fence, from: at * MS, to: (at + 1) * MS, amounts: { tokens }, answer }
}
/** Jobs that are asked for in this order at once, and end after their last start. */
const setOf = (starts: readonly Start[], more: Partial<Testimony> = {}): Testimony => {
  const ids = [...new Set(starts.map(({ id }) => id))]
  const last = (id: string) => starts.findLast((one) => one.id === id)!
  return {
    ...EMPTY,
    limits: new Map([[KEY, SET]]),
    calls: ids.map((id, n) => ask((n + 1) * 10, id, 'accepted', { costs: last(id).costs })),
    starts,
    ends: ids.map((id) => end((last(id).until ?? 0) + 1 * MS, id)),
    ...more,
  }
}
const kindsOf = (testimony: Testimony) => judgeAgain(testimony).findings.map(({ kind }) => kind)
const three = [ran(10, 'a', 1), ran(20, 'b', 2), ran(30, 'c', 3)]

test('nothing is found in a calm history under a set of limits', () => {
  const settles = [said('a', 1, 12, 1), said('b', 2, 22, 3, false), said('b', 2, 23, 3, 'unknown')]
  expect(judgeAgain(setOf([...three, ran(1_010.1, 'd', 4)], { settles }))).toEqual({
    findings: [],
    undecided: [],
  })
})

test.each<[string, Finding['kind'], Testimony]>([
  ['a start more than a quota has', 'over a quota', setOf([...three, ran(1_009, 'd', 4)])],
  [
    'one more though the clock of the store was set forward meanwhile',
    'over a quota',
    setOf([...three, ran(500, 'd', 4)], { moves: [40 * MS] }),
  ],
  [
    'a retry that pays nothing',
    'over a quota',
    setOf([...three, ran(40, 'c', 4, 5, { attempt: 2 })], {
      returns: [{ seenAt: 36 * MS, id: 'c', isFreeze: false }],
    }),
  ],
  [
    'more tokens than a quota has',
    'over a quota',
    setOf([...three.slice(0, 2), ran(30, 'c', 3, 5, { costs: { tokens: 5 } })]),
  ],
  [
    'a settlement that was refused and counted',
    'over a quota',
    setOf([...three.slice(0, 2), ran(30, 'c', 3, 5, { costs: { tokens: 5 } })], {
      settles: [said('a', 1, 12, 0, false)],
    }),
  ],
  [
    'what was settled above the estimate, and did not count',
    'over a quota',
    setOf([ran(10, 'a', 1), ran(20, 'b', 2)], { settles: [said('a', 1, 12, 7)] }),
  ],
  [
    'three that run where two may',
    'too many at once',
    setOf([ran(10, 'a', 1, 50), ran(20, 'b', 2, 50), ran(30, 'c', 3)]),
  ],
  [
    'a third that starts before the lease of one whose process died can be over',
    'too many at once',
    setOf([ran(10, 'a', 1, 900), ran(20, 'b', 2, 50), ran(30, 'c', 3)], {
      faults: [{ at: 15 * MS, id: 'a', process: 'w' }],
    }),
  ],
  [
    'a start that is settled twice',
    'settled wrongly',
    setOf(three, { settles: [said('a', 1, 12, 1), said('a', 1, 13, 1)] }),
  ],
  [
    'a start that is settled after the end',
    'settled wrongly',
    setOf(three, { settles: [said('a', 1, 40, 1)] }),
  ],
  [
    'a start that is settled when another has the fence',
    'settled wrongly',
    setOf([ran(10, 'a', 1), ran(20, 'a', 2)], {
      settles: [said('a', 1, 21, 1)],
      faults: [{ at: 15 * MS, id: 'a', process: 'w' }],
    }),
  ],
  [
    'a handler that gets other costs than were asked for',
    'other data',
    setOf(three, {
      calls: [ask(10, 'a', 'accepted', { costs: { tokens: 1 } }), ask(20, 'b'), ask(30, 'c')],
    }),
  ],
])('of a set of limits: %s', (_, kind, testimony) => {
  expect(kindsOf(testimony)).toEqual([kind])
  expect(kindsOf({ ...testimony, losses: [{ from: 0, at: 5_000 * MS, to: 6_000 * MS }] })).toContain(kind)
})

test('what a store forgot, and what was settled without an answer, takes no room', () => {
  const fourth = [...three, ran(500, 'd', 4)]
  expect(kindsOf(setOf(fourth, { losses: [{ from: 0, at: 35 * MS, to: 45 * MS }] }))).toEqual([])
  const costly = [...three.slice(0, 2), ran(30, 'c', 3, 5, { costs: { tokens: 5 } })]
  expect(kindsOf(setOf(costly, { settles: [said('a', 1, 12, 0, 'unknown')] }))).toEqual([])
})
