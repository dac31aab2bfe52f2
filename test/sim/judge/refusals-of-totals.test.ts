import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { RejectReason } from '../../../src/core/verdict.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { aJob, aPlan, SECOND } from './planted.ts'
import { judgeRefusalsOfTotals, withoutRefusalsOfTotals } from './refusals-of-totals.ts'

const NEVER = Number.POSITIVE_INFINITY
const KEYS = ['f/a', 'f/b']
const PLAN = aPlan({
  keys: KEYS.map((key) => ({ key, capacity: 100, rate: { count: 100, per: 1_000 } })),
  totals: [{ key: 'f/', capacity: 10, rate: { count: 1, per: 1_000 } }],
  jobs: [aJob('x'), { ...aJob('hurried'), deadline: 5_000 }],
})
const LIMITS = [
  ...KEYS.map((key) => ({ by: 'plan', event: limitOf(key, '100, 100/s') })),
  { by: 'plan', event: limitOf('f/', '10, 1/s') },
]

function limitOf(key: string, text: string): HistoryEvent {
  return { type: 'limit', at: 0, key, limit: parseLimit(text, key) }
}

function accepted(id: string, key: string, at: number, cost = 1): Seen {
  const event = { type: 'answer', at: at * SECOND, id, key, cost, accepted: true, departsAt: 0 } as const
  return { by: 'producer-1', event }
}

function refused(id: string, key: string, at: number, cost = 1, reason: RejectReason = 'full'): Seen {
  const event = {
    type: 'answer',
    at: at * SECOND,
    id,
    key,
    cost,
    accepted: false,
    reason,
    retryAt: 0,
  } as const
  return { by: 'producer-1', event, total: 'f/' }
}

function eventsOf(seen: readonly Seen[]): HistoryEvent[] {
  return seen.map(({ event }) => event)
}

function held(type: 'pause' | 'resume', at: number): Seen {
  return { by: 'operator', event: { type, at: at * SECOND, key: 'f/' } }
}

function refusals(seen: readonly Seen[], plan: Plan = PLAN): string[] {
  const all = [...LIMITS, ...seen]
  const lives = [{ name: 'worker-1', from: 0, until: NEVER }]
  const known = { plan, silences: [], struck: [], lives, unsure: [] }
  return judgeRefusalsOfTotals(known, eventsOf(all), all, NEVER).map(({ law }) => law)
}

test('a total refuses what it has no room for, and what would leave too little to others', () => {
  expect(refusals([accepted('x', 'f/a', 1, 8), refused('y', 'f/b', 3, 3)])).toEqual([])
  expect(refusals([accepted('x', 'f/a', 1, 7), refused('y', 'f/b', 3, 3)])).toEqual(['refusal'])
  // Its own line may be four times what is left: 8 + 1 with 2 left are more.
  expect(refusals([accepted('x', 'f/a', 1, 8), refused('y', 'f/a', 3)])).toEqual([])
  expect(refusals([accepted('x', 'f/a', 1, 8), refused('y', 'f/b', 3)])).toEqual(['refusal'])
})

test('of a key nothing is said where its total refused', () => {
  const seen = [...LIMITS, accepted('x', 'f/a', 1), refused('y', 'f/a', 2)]
  expect(withoutRefusalsOfTotals(eventsOf(seen), seen)).toEqual(eventsOf(seen).slice(0, -1))
})

test('a total refuses as too costly what is above its capacity', () => {
  expect(refusals([refused('x', 'f/a', 1, 11, 'too-costly')])).toEqual([])
  expect(refusals([refused('x', 'f/a', 1, 10, 'too-costly')])).toEqual(['refusal'])
})

test('a family that is paused refuses what has a deadline or no room, and no other does', () => {
  const during = (...seen: readonly Seen[]) => refusals([held('pause', 1), ...seen, held('resume', 3)])
  expect(during(refused('hurried', 'f/a', 2, 1, 'paused'))).toEqual([])
  expect(during(refused('x', 'f/a', 2, 1, 'paused'))).toEqual(['refusal'])
  expect(during(accepted('y', 'f/a', 1, 9), refused('x', 'f/a', 2, 2, 'paused'))).toEqual([])
  expect(refusals([held('pause', 1), held('resume', 2), refused('hurried', 'f/a', 4, 1, 'paused')])).toEqual([
    'refusal',
  ])
})

test('a total refuses for its deadline what its pace certainly lets go too late', () => {
  const behind = (units: number, ...more: readonly Seen[]) =>
    refusals([accepted('y', 'f/a', 1, units), ...more, refused('hurried', 'f/a', 2, 1, 'deadline')])
  expect(behind(6)).toEqual([])
  expect(behind(2)).toEqual(['refusal'])
  const freeze: Seen = {
    by: 'operator',
    event: { type: 'freeze', at: SECOND, key: 'f/', until: 7 * SECOND },
  }
  expect(behind(2, freeze)).toEqual([])
  const start = { type: 'start', at: 1.9 * SECOND, id: 'z', key: 'f/b', cost: 5, attempt: 1 } as const
  expect(behind(2, { by: 'worker-1', event: start })).toEqual([])
})

test('nothing is said of totals that go', () => {
  const actions = [{ do: 'unset', at: 10_000, key: 'f/' }] as const
  expect(refusals([refused('x', 'f/a', 1)])).toEqual(['refusal'])
  expect(refusals([refused('x', 'f/a', 1)], { ...PLAN, actions })).toEqual([])
})
