import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { Struck } from '../actors/faults.ts'
import type { Asked, Recovered, Seen } from '../actors/recorder.ts'
import type { Fault } from '../plan/fault.ts'
import type { CalendarPlan, SetPlan } from '../plan/set-plan.ts'
import { judgeBooks } from './books.ts'
import { judgeLiveness } from './liveness.ts'
import { accepted, aPlan, SECOND } from './planted.ts'

const NEVER = Number.POSITIVE_INFINITY

function started(id: string, at: number, fence = 0, isHeld = false): Seen {
  const held = isHeld ? { isHeld } : {}
  const event = { type: 'start', at: at * SECOND, id, key: 'k', cost: 1, attempt: 1, fence, ...held } as const
  return { by: 'worker-1', event }
}

function ended(id: string, at: number): Seen {
  return { by: 'worker-1', event: { type: 'end', at: at * SECOND, id, outcome: 'completed' } }
}

function released(id: string, at: number): Seen {
  return { by: 'caller-1', event: { type: 'release', at: at * SECOND, id, key: 'k' } }
}

function asked(fence: number, at: number, tokens: number, facts: Partial<Asked> = {}): Asked {
  return { at: at * SECOND, key: 'k', fence, amounts: { tokens }, ...facts }
}

interface Facts {
  readonly asked?: readonly Asked[]
  readonly recovered?: readonly Recovered[]
  readonly struck?: readonly Struck[]
}

function knownOf(set: SetPlan, { asked = [], recovered = [], struck = [] }: Facts) {
  const plan = aPlan({ keys: [{ key: 'k', capacity: 10, rate: { count: 100, per: 1_000 }, ...set }] })
  const lives = [{ name: 'worker-1', from: 0, until: NEVER }]
  const known = { plan, silences: [], struck, lives, unsure: [] }
  return { known, asking: { asked: [...asked], recovered: [...recovered] } }
}

/** How many starts were late. */
function late(set: SetPlan, seen: readonly Seen[], facts: Facts = {}): number {
  const { known, asking } = knownOf(set, facts)
  const history = seen.map(({ event }) => event)
  return judgeLiveness(known, history, seen, NEVER, asking).length
}

const ONE_IN_FIVE: SetPlan = { quotas: [{ amount: 1, window: 5_000 }] }
const TOKENS: SetPlan = { quotas: [{ amount: 10, window: 5_000, unit: 'tokens', each: 6 }] }
const ONE_AT_ONCE: SetPlan = { concurrency: 1 }
const TWO = [accepted('a', 10), started('a', 10.1, 1), ended('a', 10.2), accepted('b', 10.3)]

test('what a period of a calendar counts may count as of now under a limit that rolls', () => {
  const limit = parseLimit('10, 100/s, 1 per 5s')
  const change = { by: 'operator', event: { type: 'limit', at: 12 * SECOND, key: 'k', limit } } as const
  const before = TWO.slice(0, 3)
  const under = (window: number | CalendarPlan, at: number) =>
    late({ quotas: [{ amount: 9, window }] }, [...before, change, accepted('b', 12.1), started('b', at)])
  const day = { period: 'day', zone: 'UTC' } as const
  expect(under(20_000, 17)).toBe(1)
  expect(under(day, 17)).toBe(0)
  expect(under(day, 19)).toBe(1)
})

test('a job waits until a quota has room, and no longer', () => {
  expect(late({}, [...TWO, started('b', 15.3)])).toBe(1)
  expect(late(ONE_IN_FIVE, [...TWO, started('b', 15.3)])).toBe(0)
  expect(late(ONE_IN_FIVE, [...TWO, started('b', 17)])).toBe(1)
  expect(late(TOKENS, [...TWO, started('b', 17)])).toBe(1)
})

test('what was settled for less makes room when the answer says so, and what was asked for counts until then', () => {
  const less = asked(1, 10.15, 1, { answer: true, until: 10.2 * SECOND })
  expect(late(TOKENS, [...TWO, started('b', 13)], { asked: [less] })).toBe(1)
  expect(late(TOKENS, [...TWO, started('b', 13)], { asked: [asked(1, 10.15, 1)] })).toBe(0)
  const small = { quotas: [{ ...TOKENS.quotas![0]!, each: 2 }] }
  expect(late(small, [...TWO, started('b', 13)])).toBe(1)
  expect(late(small, [...TWO, started('b', 13)], { asked: [asked(1, 10.15, 9)] })).toBe(0)
})

test('a slot that a dead worker was granted counts, though nothing started', () => {
  const line = [
    accepted('a', 10),
    started('a', 10.1),
    ended('a', 10.2),
    accepted('b', 10.3),
    accepted('c', 12),
  ]
  const recovered = [{ at: 14 * SECOND, id: 'b', key: 'k', mayHaveStarted: true }]
  expect(late(ONE_IN_FIVE, [...line, started('b', 18.5)])).toBe(1)
  expect(late(ONE_IN_FIVE, [...line, started('b', 18.5)], { recovered })).toBe(0)
  expect(late(ONE_IN_FIVE, [...line, started('b', 21)], { recovered })).toBe(1)
})

test('after a restart a quota may have to run out, and no longer', () => {
  const fault: Fault = { kind: 'restart', at: 10_500, down: 100, keeps: 'all', until: 10_600 }
  const struck = [{ fault, from: 10.5 * SECOND, until: 10.6 * SECOND }]
  const line = [...TWO, ended('x', 10.4)]
  expect(late(ONE_IN_FIVE, [...line, started('b', 20)], { struck })).toBe(0)
  expect(late(ONE_IN_FIVE, [...line, started('b', 30)], { struck })).toBe(1)
})

test('a job waits until a place is free, and no longer', () => {
  const busy = [accepted('a', 10), started('a', 10.1), accepted('b', 10.2)]
  expect(late(ONE_AT_ONCE, [...busy, ended('a', 20), started('b', 20.5)])).toBe(0)
  expect(late(ONE_AT_ONCE, [...busy, ended('a', 20), started('b', 22)])).toBe(1)
  expect(late({}, [...busy, ended('a', 20), started('b', 20.5)])).toBe(1)
})

test('a turn holds its place until it is released, and one that holds none takes none', () => {
  const held = (isHeld: boolean) => [
    accepted('~t', 10),
    started('~t', 10.1, 1, isHeld),
    ended('~t', 10.1),
    accepted('b', 10.2),
  ]
  expect(late(ONE_AT_ONCE, [...held(true), released('~t', 20), started('b', 20.5)])).toBe(0)
  expect(late(ONE_AT_ONCE, [...held(true), released('~t', 20), started('b', 22)])).toBe(1)
  expect(late(ONE_AT_ONCE, [...held(false), started('b', 20.5)])).toBe(1)
})

test('a place that a recovered job held is free', () => {
  const busy = [accepted('a', 10), started('a', 10.1), accepted('b', 10.2)]
  const recovered = [{ at: 14 * SECOND, id: 'a', key: 'k', mayHaveStarted: true }]
  expect(late(ONE_AT_ONCE, [...busy, started('b', 20)], { recovered })).toBe(1)
})

function books(
  set: SetPlan,
  taken: number,
  used: number | undefined,
  facts: Facts = {},
  seen = TWO,
): string[] {
  const { known, asking } = knownOf(set, facts)
  const history = seen.map(({ event }) => event)
  const quotas = used === undefined ? [] : [{ quota: '1 per 5s', used, amount: 1 }]
  const view = { quotas, places: { taken, of: 1 } }
  const found = judgeBooks([{ key: 'k', at: 12 * SECOND, view }], known, history, seen, asking)
  return found.map(({ message }) => message)
}

test('a place that is taken at the end is a breach', () => {
  expect(books(ONE_AT_ONCE, 0, undefined)).toEqual([])
  expect(books(ONE_AT_ONCE, 1, undefined)).toHaveLength(1)
})

test('a quota that counts more or less than what started is a breach', () => {
  expect(books(ONE_IN_FIVE, 0, 1)).toEqual([])
  expect(books(ONE_IN_FIVE, 0, 0)).toHaveLength(1)
  expect(books(ONE_IN_FIVE, 0, 2)).toHaveLength(1)
  expect(books(ONE_IN_FIVE, 0, undefined)).toHaveLength(1)
  expect(
    books(ONE_IN_FIVE, 0, 2, { recovered: [{ at: 11 * SECOND, id: 'a', key: 'k', mayHaveStarted: true }] }),
  ).toEqual([])
})
