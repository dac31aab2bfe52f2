import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import { checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Asked, Left, Seen } from '../actors/recorder.ts'
import { afterOwnSteps } from './own-steps.ts'
import { accepted, SECOND } from './planted.ts'

const LAG = 0.6 * SECOND

function byWorker(event: HistoryEvent): Seen {
  return { by: 'worker-1', event }
}

const start = byWorker({ type: 'start', at: SECOND, id: 'j', key: 'k', cost: 1, attempt: 1, fence: 7 })

function settled(at: number): Seen {
  return byWorker({ type: 'settle', at: at * SECOND, id: 'j', key: 'k', amounts: { tokens: 1 }, fence: 7 })
}

function ended(at: number): Seen {
  return byWorker({ type: 'end', at: at * SECOND, id: 'j', outcome: 'completed' })
}

function left(at: number, fence = 7): Left {
  return { at: at * SECOND, key: 'k', fence }
}

function breaches(seen: readonly Seen[], overAt: readonly Left[]): string[] {
  const limit = {
    type: 'limit',
    at: 0,
    key: 'k',
    limit: parseLimit('10, 100/s, 10 tokens/second 1 each'),
  } as const
  const events = afterOwnSteps([accepted('j', 0.5), ...seen], { left: overAt, asked: [] }).map(
    ({ event }) => event,
  )
  const history = [limit, ...events].sort((a, b) => a.at - b.at)
  return checkHistory(history, { lag: LAG, settle: 0 }).map(({ law }) => law)
}

// The clock of the store was set back while the handler ran: the worker reports that it ended as it started.
test('a job that is said to end before its handler does ends with it, and may be settled until then', () => {
  expect(breaches([start, ended(0.9), settled(2.9)], [left(3)])).toEqual([])
})

test('one that is settled after that breaks L10', () => {
  expect(breaches([start, ended(0.9), settled(3.7)], [left(3)])).toEqual(['L10'])
})

test('what is known of other starts says nothing of this one', () => {
  expect(breaches([start, ended(0.9), settled(2.9)], [left(3, 8)])).toEqual(['L10'])
})

test('an end keeps its time where it comes after its handler', () => {
  expect(afterOwnSteps([start, ended(4)], { left: [left(3)], asked: [] })).toEqual([start, ended(4)])
})

test('a handler that is aborted, and goes on, has ended then', () => {
  expect(afterOwnSteps([start, ended(1)], { left: [left(2), left(3)], asked: [] })).toEqual([start, ended(2)])
})

test('a turn ends as it departs, and gives its place back later', () => {
  const id = '~cli~1'
  const turn = byWorker({ ...start.event, id } as HistoryEvent)
  const end = byWorker({ type: 'end', at: SECOND, id, outcome: 'completed' })
  const release = byWorker({ type: 'release', at: SECOND, id, key: 'k' })
  const [, ends, releases] = afterOwnSteps([turn, end, release], { left: [left(2)], asked: [] })
  expect(ends).toEqual(end)
  expect(releases?.event.at).toBe(2 * SECOND)
})

test('a turn that its closing process gives back is not held until its caller would have', () => {
  const id = '~cli~1'
  const turn = byWorker({ ...start.event, id } as HistoryEvent)
  const release = { ...byWorker({ type: 'release', at: 1.5 * SECOND, id, key: 'k' }), toldAt: 1.6 * SECOND }
  expect(afterOwnSteps([turn, release], { left: [left(2)], asked: [] })).toEqual([turn, release])
})

test('a settling that is said to be earlier than it was asked for was then, and keeps its time else', () => {
  const asked = (at: number, answer: boolean) => [
    { at: at * SECOND, key: 'k', fence: 7, amounts: { tokens: 1 }, answer },
  ]
  const settling = (at: number, how: { left: Left[]; asked: Asked[] }) =>
    afterOwnSteps([start, settled(at)], how)[1]?.event.at
  expect(settling(1.5, { left: [], asked: asked(2.5, true) })).toBe(2.5 * SECOND)
  expect(settling(2.6, { left: [], asked: asked(2.5, true) })).toBe(2.6 * SECOND)
  // It was settled before, or is over: such an answer says nothing of this one.
  expect(settling(1.5, { left: [left(4)], asked: asked(2.5, false) })).toBe(1.5 * SECOND)
})
