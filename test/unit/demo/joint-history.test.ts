import { expect, it } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import { joinHistories } from '../../../src/demo/shared/joint-history.ts'

const limit = (at: number): HistoryEvent => ({ type: 'limit', at, key: 'a', limit: parseLimit('5, 10/s') })
const job = { id: 'x', key: 'a', cost: 1 }

it('records of several processes become one history: one limit for each key first, audits last', () => {
  const audit = {
    type: 'audit',
    admitted: 1,
    waiting: 0,
    handed: 0,
    running: 0,
    retrying: 0,
    ended: 1,
  } as const
  const producer: HistoryEvent[] = [
    limit(10),
    { type: 'answer', at: 10, ...job, accepted: true, departsAt: 10 },
    { ...audit, at: 10 },
  ]
  const worker: HistoryEvent[] = [
    limit(20),
    { type: 'start', at: 20, ...job, attempt: 1 },
    { type: 'end', at: 30, id: 'x', outcome: 'completed' },
  ]
  for (const histories of [
    [worker, producer],
    [producer, worker],
  ]) {
    const joint = joinHistories(histories)
    expect(joint.map(({ type, at }) => [type, at])).toEqual([
      ['limit', 10],
      ['answer', 10],
      ['start', 20],
      ['end', 30],
      ['audit', 30],
    ])
    expect(checkHistory(joint)).toEqual([])
  }
})

it('empty records give an empty history', () => {
  expect(joinHistories([[], []])).toEqual([])
})

it('a start that Redis knew of before its reported time has given its place to the next', () => {
  const accept = (at: number, id: string): HistoryEvent => ({
    type: 'answer',
    at,
    id,
    key: 'a',
    cost: 1,
    accepted: true,
    departsAt: at,
  })
  const first: HistoryEvent = { type: 'limit', at: 0, key: 'a', limit: parseLimit('1, 10/s') }
  const producer = [first, accept(1_000_000, 'x'), accept(1_003_000, 'y')]
  const worker = [first, { type: 'start', at: 1_004_000, ...job, attempt: 1 } as const]
  const options = { lag: 250_000, unfinished: true }
  expect(checkHistory([...producer, ...worker.slice(1)], options).map(({ law }) => law)).toEqual(['L1'])
  expect(checkHistory(joinHistories([worker, producer]), options)).toEqual([])
})

it.each([
  ['a key', 'a/x', { type: 'pause' }, { type: 'resume' }],
  ['a family', 'a/', { type: 'pause' }, { type: 'resume' }],
  ['a frozen key', 'a/x', { type: 'freeze', until: 9_000_000 }, { type: 'unfreeze' }],
] as const)('a start just after %s was held stays behind what let it go', (_, held, hold, release) => {
  const key = 'a/x'
  const first: HistoryEvent = { type: 'limit', at: 0, key, limit: parseLimit('5, 10/s') }
  const other: HistoryEvent[] = [
    first,
    { type: 'answer', at: 1_000_000, id: 'x', key, cost: 1, accepted: true, departsAt: 1_000_000 },
    { ...hold, at: 1_000_000, key: held },
    { ...release, at: 1_400_000, key: held },
  ]
  const worker: HistoryEvent[] = [first, { type: 'start', at: 1_401_000, id: 'x', key, cost: 1, attempt: 1 }]
  const types = joinHistories([worker, other]).map(({ type }) => type)
  expect(types.slice(-2)).toEqual([release.type, 'start'])
})

it.each([
  ['the key', { 'a/x': '5, 10/s, 1 at once' }],
  ['its family', { 'a/x': '5, 10/s', 'a/': '5, 10/s, 1 at once' }],
])('a start stays behind the end of a job whose place of %s it took', (_, limits) => {
  const limited = Object.entries(limits).map(
    ([key, text]): HistoryEvent => ({ type: 'limit', at: 0, key, limit: parseLimit(text) }),
  )
  const accept = (id: string): HistoryEvent => {
    return { type: 'answer', at: 0, id, key: 'a/x', cost: 1, accepted: true, departsAt: 0 }
  }
  const start = (at: number, id: string): HistoryEvent => {
    return { type: 'start', at, id, key: 'a/x', cost: 1, attempt: 1 }
  }
  const first = [
    start(1_000_000, 'x'),
    { type: 'end', at: 1_200_000, id: 'x', outcome: 'completed' } as const,
  ]
  const joint = joinHistories([limited, [accept('x'), accept('y')], first, [start(1_201_000, 'y')]])
  expect(joint.slice(-2).map(({ type }) => type)).toEqual(['end', 'start'])
})
