import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import { checkHistory, type HistoryEvent } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { judgeLiveness } from './liveness.ts'
import { aPlan, SECOND } from './planted.ts'
import { countsForTotals, judgeParts, partsOfTotals } from './totals.ts'

const NEVER = Number.POSITIVE_INFINITY
const keys = ['f/a', 'f/b'].map((key) => ({ key, capacity: 100, rate: { count: 100, per: 1_000 } }))
const totals = [{ key: 'f/', capacity: 10, rate: { count: 1, per: 1_000 } }]
const PLAN = aPlan({ keys, totals })

function limit(key: string, text: string, at = 0): Seen {
  return { by: 'plan', event: { type: 'limit', at: at * SECOND, key, limit: parseLimit(text, key) } }
}

const LIMITS = [limit('f/a', '100, 100/s'), limit('f/b', '100, 100/s'), limit('f/', '10, 1/s')]

function accepted(id: string, key: string, at: number, cost = 1): Seen {
  return {
    by: 'producer-1',
    event: { type: 'answer', at: at * SECOND, id, key, cost, accepted: true, departsAt: 0 },
  }
}

function started(id: string, key: string, at: number): Seen {
  return { by: 'worker-1', event: { type: 'start', at: at * SECOND, id, key, cost: 1, attempt: 1 } }
}

function eventsOf(seen: readonly Seen[]): HistoryEvent[] {
  return seen.map(({ event }) => event)
}

function knownOf(plan: Plan) {
  const lives = [{ name: 'worker-1', from: 0, until: NEVER }]
  return { plan, silences: [], struck: [], lives, unsure: [] }
}

test('while a child could go, one of its family does', () => {
  const late = (starts: readonly number[]) => {
    const jobs = starts.map((_, n) => accepted(`j${n}`, n % 2 === 0 ? 'f/a' : 'f/b', 3))
    const ran = starts.map((at, n) => started(`j${n}`, n % 2 === 0 ? 'f/a' : 'f/b', at))
    const seen = [...LIMITS, ...jobs, ...ran]
    return judgeLiveness(knownOf(PLAN), eventsOf(seen), seen, NEVER).length
  }
  expect(late([3.1, 4.1, 5.1, 6.1])).toBe(0)
  expect(late([3.1, 4.1, 5.1, 20])).toBeGreaterThan(0)
})

test('a total that comes and goes is judged while it is there', () => {
  const actions = [{ do: 'unset', at: 10_000, key: 'f/' }] as const
  const pair = (at: number) => [
    accepted(`x${at}`, 'f/a', at),
    accepted(`y${at}`, 'f/b', at),
    started(`x${at}`, 'f/a', at + 0.1),
    started(`y${at}`, 'f/b', at + 0.2),
  ]
  const laws = (at: number) => {
    const unset = [{ at: 10 * SECOND, until: 10.1 * SECOND, key: 'f/' }]
    const history = eventsOf([...LIMITS, ...pair(at)])
    const { lasting, parts } = partsOfTotals(history, { ...PLAN, actions }, unset, [], () => SECOND)
    expect(lasting).toEqual(history.filter((event) => !('key' in event && event.key === 'f/')))
    return judgeParts(parts, [], () => SECOND).map(({ law }) => law)
  }
  expect(laws(5)).toEqual(['L2'])
  expect(laws(11)).toEqual([])
})

test('a total that comes late counts from when all keys below it surely do, and not where its coming may be lost', () => {
  const late = { ...PLAN, totals: [{ ...totals[0]!, comesLate: true as const }] }
  const pair = (at: number) => [
    accepted(`x${at}`, 'f/a', at),
    accepted(`y${at}`, 'f/b', at),
    started(`x${at}`, 'f/a', at + 0.1),
    started(`y${at}`, 'f/b', at + 0.2),
  ]
  const laws = (at: number, struck: Parameters<typeof judgeParts>[1] = []) => {
    const seen = [...LIMITS.slice(0, 2), limit('f/', '10, 1/s', 5), ...pair(at)]
    const history = eventsOf(seen).toSorted((one, other) => one.at - other.at)
    const { lasting, parts } = partsOfTotals(history, late, [], struck, () => SECOND)
    expect(parts).toEqual([])
    return checkHistory(lasting, { unfinished: true }).map(({ law }) => law)
  }
  expect(laws(3)).toEqual([])
  expect(laws(5.1)).toEqual([])
  expect(laws(7)).toEqual(['L2'])
  const fault = { kind: 'step', at: 9_000, by: 1, until: 9_000 } as const
  expect(laws(7, [{ fault, from: 9 * SECOND, until: 9 * SECOND }])).toEqual([])
})

test('shares are judged before the first fault, and where there are many handlers', () => {
  const breach = { law: 'L12', at: 2 * SECOND, message: '' } as const
  const wait = { ...breach, law: 'L13' } as const
  const struck = (at: number) => {
    const fault = { kind: 'flush-scripts', at: at * 1_000, until: at * 1_000 } as const
    return [{ fault, from: at * SECOND, until: at * SECOND }]
  }
  expect(countsForTotals(breach, PLAN, [], [])).toBe(true)
  expect(countsForTotals(breach, PLAN, struck(3), [])).toBe(true)
  expect(countsForTotals(breach, PLAN, struck(1), [])).toBe(false)
  const few = { ...PLAN, workers: PLAN.workers.map((worker) => ({ ...worker, concurrency: 3 })) }
  for (const one of [breach, wait]) expect(countsForTotals(one, few, [], [])).toBe(false)
  expect([0, 1, 3].map((at) => countsForTotals(wait, PLAN, at === 0 ? [] : struck(at), []))).toEqual([
    true,
    false,
    true,
  ])
  const late = { ...PLAN, totals: [{ ...totals[0]!, comesLate: true as const }] }
  expect([breach, wait].map((one) => countsForTotals(one, late, [], []))).toEqual([true, false])
})

test('shares of a total are judged from when it is sure which totals are below it', () => {
  const inner = { key: 'f/in/', capacity: 10, rate: { count: 1, per: 1_000 }, comesLate: true as const }
  const plan = { ...PLAN, totals: [...totals, inner] }
  const { event } = limit('f/in/', '10, 1/s', 3)
  const judged = (key: string, at: number, lasting: readonly HistoryEvent[]) =>
    countsForTotals({ law: 'L12', at: at * SECOND, key, id: 'a', message: '' }, plan, [], lasting)
  // Also where it is a job beside it that started.
  for (const key of ['f/a', 'f/in/x']) {
    expect([2.9, 3.1].map((at) => judged(key, at, [event]))).toEqual([false, true])
    // It may have come, and gone again.
    expect(judged(key, 3.1, [])).toBe(false)
  }
  expect(judged('g/a', 2.9, [event])).toBe(true)
})
