import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Silence } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import type { JobPlan, Plan } from '../plan/plan.ts'
import { aJob, aPlan, SECOND } from './planted.ts'
import { judgeRefusals } from './refusals.ts'

const NEVER = Number.POSITIVE_INFINITY

function limit(at: number, text: string): Seen {
  return { by: 'plan', event: { type: 'limit', at: at * SECOND, key: 'k', limit: parseLimit(text) } }
}

function accepted(id: string, at: number, cost = 1): Seen {
  const event = { type: 'answer', at: at * SECOND, id, key: 'k', cost, accepted: true, departsAt: 0 } as const
  return { by: 'producer-1', event }
}

function refused(
  id: string,
  at: number,
  reason: 'full' | 'deadline' | 'too-costly' = 'full',
  cost = 1,
): Seen {
  const retryAt = (at + 1) * SECOND
  return {
    by: 'producer-1',
    event: { type: 'answer', at: at * SECOND, id, key: 'k', cost, accepted: false, reason, retryAt },
  }
}

function started(id: string, at: number, by = 'worker-1'): Seen {
  return { by, event: { type: 'start', at: at * SECOND, id, key: 'k', cost: 1, attempt: 1 } }
}

function ended(id: string, at: number, outcome: 'completed' | 'cancelled' = 'completed'): Seen {
  return { by: 'worker-1', event: { type: 'end', at: at * SECOND, id, outcome } }
}

function breaches(
  seen: readonly Seen[],
  silences: readonly Silence[] = [],
  plan: Partial<Plan> = {},
): string[] {
  const known = { plan: aPlan(plan), silences, struck: [], lives: [], unsure: [] }
  const all = [limit(0, '2, 1/s'), ...seen]
  const history: HistoryEvent[] = all.map(({ event }) => event)
  return judgeRefusals(known, history, all, NEVER).map(({ message }) => message)
}

function silence(from: number, until: number, isDeath = false): Silence {
  const process = 'worker-1'
  return { process, from: from * SECOND, until: until * SECOND, isDeath, cause: 'its link', breaks: isDeath }
}

test('a refusal is right to the unit', () => {
  const full = [accepted('a', 1), accepted('b', 1)]
  expect(breaches([...full, refused('c', 2)])).toEqual([])
  expect(breaches([accepted('a', 1), refused('c', 2)])).toHaveLength(1)
  expect(breaches([accepted('a', 1), refused('c', 2, 'full', 2)])).toEqual([])
})

test('news of a start takes a moment, and no longer', () => {
  const line = [accepted('a', 1), accepted('b', 1), started('a', 2)]
  expect(breaches([...line, refused('c', 2.1)])).toEqual([])
  expect(breaches([...line, refused('c', 3)])).toHaveLength(1)
})

test('a process is known by what it did, also where the clock of Redis was set and the history has other times', () => {
  const line = [accepted('a', 1), accepted('b', 1), started('a', 2)]
  const seen = [...line.slice(0, 2), started('a', 2.001)]
  const known = { plan: aPlan({}), silences: [silence(1.9, 3.9)], struck: [], lives: [], unsure: [] }
  const late = refused('c', 4)
  const history = [limit(0, '2, 1/s'), ...line, late].map(({ event }) => event)
  expect(judgeRefusals(known, history, [limit(0, '2, 1/s'), ...seen, late], NEVER)).toHaveLength(0)
  expect(judgeRefusals({ ...known, silences: [] }, history, [...seen, late], NEVER)).toHaveLength(1)
})

test('a fault elsewhere, or long ago, is no reason for a refusal', () => {
  const line = [accepted('a', 1), accepted('b', 1), started('a', 20, 'worker-2')]
  expect(breaches([...line, refused('c', 21)], [silence(19, 30)])).toHaveLength(1)
  const late = [accepted('a', 1), accepted('b', 1), started('a', 20)]
  expect(breaches([...late, refused('c', 21)], [silence(5, 6)])).toHaveLength(1)
})

test('news of a silent worker comes when it is heard again, and that of a dead one with the end of its lease', () => {
  const line = [accepted('a', 1), accepted('b', 1), started('a', 2)]
  expect(breaches([...line, refused('c', 6)], [silence(1.9, 5)])).toEqual([])
  expect(breaches([...line, refused('c', 12)], [silence(1.9, 5)])).toHaveLength(1)
  expect(breaches([...line, refused('c', 12)], [silence(2.1, 2.1, true)])).toEqual([])
  expect(breaches([...line, refused('c', 17)], [silence(2.1, 2.1, true)])).toHaveLength(1)
})

test('a job that was cancelled makes room at once', () => {
  const line = [accepted('a', 1), accepted('b', 1), ended('a', 2, 'cancelled')]
  expect(breaches([...line, refused('c', 2.05)])).toHaveLength(1)
})

test('a job is too costly for the capacity in force, not for one of before', () => {
  expect(breaches([refused('a', 1, 'too-costly', 3)])).toEqual([])
  expect(breaches([refused('a', 1, 'too-costly', 2)])).toHaveLength(1)
  const raised = [limit(10, '5, 1/s')]
  expect(breaches([...raised, refused('a', 10.5, 'too-costly', 3)])).toEqual([])
  expect(breaches([...raised, refused('a', 14, 'too-costly', 3)])).toHaveLength(1)
})

test('while the answer to a change of a limit is missing, both limits may apply', () => {
  const raised = [accepted('a', 1), accepted('b', 1), { ...limit(10, '5, 1/s'), toldAt: 20 * SECOND }]
  expect(breaches([...raised, refused('c', 19)])).toEqual([])
  expect(breaches([...raised, refused('c', 21)])).toEqual([])
  expect(breaches([...raised, refused('c', 24)])).toHaveLength(1)
})

test('a job is refused as late only where it would have been', () => {
  const jobs: readonly JobPlan[] = [{ ...aJob('c'), deadline: 5_000 }]
  const line = [accepted('a', 10), started('a', 10), accepted('b', 10)]
  expect(breaches([...line, refused('c', 10, 'deadline')], [], { jobs })).toHaveLength(1)
  const hurried = [{ ...aJob('c'), deadline: 1_500 }]
  expect(breaches([...line, refused('c', 10, 'deadline')], [], { jobs: hurried })).toEqual([])
  const frozen: Seen = {
    by: 'operator',
    event: { type: 'freeze', at: 9 * SECOND, key: 'k', until: 20 * SECOND },
  }
  expect(breaches([frozen, ...line, refused('c', 10, 'deadline')], [], { jobs })).toEqual([])
})

test('where the clock of the store was set back, an end that only the store knows may be later than it says', () => {
  const lost = { ...ended('a', 1.5, 'cancelled'), by: 'fate', toldAt: 5 * SECOND }
  const line = [accepted('a', 1), accepted('b', 1), lost]
  const all = [...line, refused('c', 2)]
  expect(breaches(all)).toHaveLength(1)
  const step = { kind: 'step', at: 3_000, by: -86_400_000, until: 3_000 } as const
  expect(breaches(all, [], { faults: [step] })).toEqual([])
  expect(breaches([...line, refused('c', 6)], [], { faults: [step] })).toHaveLength(1)
  const known = [...line.slice(0, 2), ended('a', 1.5, 'cancelled'), refused('c', 2)]
  expect(breaches(known, [], { faults: [step] })).toHaveLength(1)
})

test('a job may be too costly for a quota', () => {
  const small = [limit(10, '5, 1/s, 2/minute')]
  expect(breaches([...small, refused('a', 14, 'too-costly', 3)])).toEqual([])
  expect(breaches([...small, refused('a', 14, 'too-costly', 2)])).toHaveLength(1)
})

test('a quota may make a job late, by a window for each that goes before it', () => {
  const line = [accepted('a', 20), started('a', 20)]
  const within = (ms: number) => ({ jobs: [{ ...aJob('c'), deadline: ms }] })
  const refusal = refused('c', 20, 'deadline')
  const quota = [limit(10, '2, 1/s, 1/5s')]
  expect(breaches([...line, refusal], [], within(9_000))).toHaveLength(1)
  expect(breaches([...quota, ...line, refusal], [], within(9_000))).toEqual([])
  expect(breaches([...quota, ...line, refusal], [], within(19_000))).toHaveLength(1)
  expect(breaches([limit(10, '2, 1/s, 1 at once'), ...line, refusal], [], within(19_000))).toEqual([])
})
