import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Asked, Left } from '../actors/recorder.ts'
import type { Fault } from '../plan/fault.ts'
import type { Plan } from '../plan/plan.ts'
import { aPlan, SECOND } from './planted.ts'
import { judgeSets } from './sets.ts'

function limit(text: string, at = 0): HistoryEvent {
  return { type: 'limit', at: at * SECOND, key: 'k', limit: parseLimit(text) }
}

/** A start that names its tokens, and has its number as its fence. */
function started(n: number, at: number, tokens?: number): HistoryEvent {
  const costs = tokens === undefined ? {} : { costs: { tokens } }
  return { type: 'start', at: at * SECOND, id: `j${n}`, key: 'k', cost: 1, ...costs, attempt: 1, fence: n }
}

function ended(n: number, at: number): HistoryEvent {
  return { type: 'end', at: at * SECOND, id: `j${n}`, outcome: 'completed' }
}

function ran(n: number, at: number, tokens?: number): HistoryEvent[] {
  return [started(n, at, tokens), ended(n, at + 0.01)]
}

function settled(n: number, at: number, tokens: number, fence = n): HistoryEvent {
  return { type: 'settle', at: at * SECOND, id: `j${n}`, key: 'k', amounts: { tokens }, fence }
}

function asked(n: number, at: number, tokens: number, facts: Partial<Asked> = {}): Asked {
  return { at: at * SECOND, key: 'k', fence: n, amounts: { tokens }, ...facts }
}

function struck(fault: Fault, from: number, until = from): Struck {
  return { fault, from: from * SECOND, until: until * SECOND }
}

interface Facts {
  readonly plan?: Partial<Plan>
  readonly struck?: readonly Struck[]
  readonly asked?: readonly Asked[]
  readonly left?: readonly Left[]
  /** For so long a replaced limit may be used; seconds. */
  readonly settle?: number
}

/** The breaches: laws, and when, in seconds. */
function breaches(
  events: readonly HistoryEvent[],
  { plan = {}, struck = [], asked = [], left = [], settle = 0 }: Facts = {},
) {
  const accepted = events.flatMap((event): HistoryEvent[] => {
    if (event.type !== 'start') return []
    const { id, key, cost, costs } = event
    return [{ type: 'answer', at: 0, id, key, cost, ...(costs && { costs }), accepted: true, departsAt: 0 }]
  })
  const [first, ...others] = events
  const history = [first!, ...accepted, ...others]
  const found = judgeSets({ plan: aPlan(plan), struck, asked, left }, history, () => settle * SECOND)
  return found.map(({ law, at }) => `${law} ${Math.round(at / 1_000) / 1_000}`)
}

const TWO_IN_A_SECOND = '10, 100/s, 2/s'
const TOKENS = '10, 100/s, 10 tokens/second 1 each'
const ONE_AT_ONCE = '10, 100/s, 1 at once'
/** Three of two in a second. */
const OVERDRAWN = [...ran(1, 1), ...ran(2, 1.1), ...ran(3, 1.9)]

test('a start beyond a quota breaks L10', () => {
  expect(breaches([limit(TWO_IN_A_SECOND), ...OVERDRAWN])).toEqual(['L10 1.9'])
  expect(breaches([limit(TWO_IN_A_SECOND), ...ran(1, 1), ...ran(2, 1.1), ...ran(3, 2.001)])).toEqual([])
  expect(breaches([limit(TOKENS), ...ran(1, 1, 6), ...ran(2, 1.2, 5)])).toEqual(['L10 1.2'])
})

test('what was settled counts from the moment at which no slot of before can be used any more', () => {
  const more = (at: number) => [
    limit(TOKENS),
    started(1, 1, 2),
    settled(1, 1.1, 9),
    ended(1, 1.15),
    ...ran(2, at, 5),
  ]
  expect(breaches(more(1.3))).toEqual([])
  expect(breaches(more(1.9))).toEqual(['L10 1.9'])
  const less = [limit(TOKENS), started(1, 1, 9), settled(1, 1.1, 2), ended(1, 1.15), ...ran(2, 1.2, 8)]
  expect(breaches(less)).toEqual([])
})

test('an attempt settles once, while it runs, and by its own fence', () => {
  const once = [limit(TOKENS), started(1, 1, 5), settled(1, 1.1, 2)]
  expect(breaches([...once, ended(1, 2)])).toEqual([])
  expect(breaches([...once, settled(1, 1.2, 1), ended(1, 2)])).toEqual(['L10 1.2'])
  expect(breaches([limit(TOKENS), ...ran(1, 1, 5), settled(1, 3, 2)])).toEqual(['L10 3'])
  expect(breaches([limit(TOKENS), started(2, 1, 5), settled(2, 1.1, 2, 1), ended(2, 2)])).toEqual(['L10 1.1'])
})

test('a settling without an answer may have been carried out, but not after the end', () => {
  const events = [limit(TOKENS), started(1, 1, 9), ended(1, 1.15), ...ran(2, 1.2, 8)]
  expect(breaches(events)).toEqual(['L10 1.2'])
  expect(breaches(events, { asked: [asked(1, 1.1, 2)] })).toEqual([])
  expect(breaches(events, { asked: [asked(1, 1.1, 2, { answer: false })] })).toEqual(['L10 1.2'])
  expect(breaches(events, { asked: [asked(1, 1.16, 2)] })).toEqual(['L10 1.2'])
  const fault = { type: 'fault', at: 1.1 * SECOND, id: 'j1' } as const
  const again = { ...started(1, 1.2, 2), fence: 3 }
  const lost = [limit(TOKENS), started(1, 1, 2), fault, again, ended(1, 1.5)]
  expect(breaches(lost, { asked: [asked(1, 1.3, 1)] })).toEqual([])
})

test('more at once than there are places break L11', () => {
  expect(breaches([limit(ONE_AT_ONCE), started(1, 1), started(2, 1.5), ended(1, 2), ended(2, 2)])).toEqual([
    'L11 1.5',
  ])
  expect(breaches([limit(ONE_AT_ONCE), started(1, 1), ended(1, 1.4), started(2, 1.5), ended(2, 2)])).toEqual(
    [],
  )
})

test('a worker that died holds its place until the lease of its job can have ended', () => {
  const fault = { type: 'fault', at: 1.2 * SECOND, id: 'j1', leaseUntil: 3 * SECOND } as const
  const after = (at: number) => [limit(ONE_AT_ONCE), started(1, 1), fault, started(2, at), ended(2, at + 0.1)]
  expect(breaches(after(2.9))).toEqual(['L11 2.9'])
  expect(breaches(after(3.1))).toEqual([])
  const step: Fault = { kind: 'step', at: 2_000, by: 1_500, until: 2_000 }
  expect(breaches(after(2.9), { struck: [struck(step, 2)] })).toEqual([])
})

test('a limit that was replaced counts for as long as it may be used', () => {
  const lowered = [
    limit('10, 100/s, 3/s'),
    ...ran(1, 1),
    limit(TWO_IN_A_SECOND, 1.05),
    ...ran(2, 1.1),
    ...ran(3, 1.9),
  ]
  expect(breaches(lowered, { settle: 1 })).toEqual([])
  expect(breaches(lowered, { settle: 0.5 })).toEqual(['L10 1.9'])
})

test('of a calendar two periods count at their boundary, by the clock of Redis', () => {
  const hourly = limit('10, 100/s, 2 per hour in UTC')
  // Worlds begin 400 s after a full hour.
  const plan = { ahead: (3_600 - 400 - 5) * 1_000 }
  const across = [hourly, ...ran(1, 1), ...ran(2, 2), ...ran(3, 7)]
  expect(breaches(across, { plan })).toEqual([])
  expect(breaches(across)).toEqual(['L10 7'])
  expect(breaches([hourly, ...ran(1, 1), ...ran(2, 2), ...ran(3, 5.5)], { plan })).toEqual(['L10 5.5'])
})

test('a clock that was set, forward or back, excuses nothing', () => {
  const events = [limit(TWO_IN_A_SECOND), ...OVERDRAWN]
  const step = (by: number, at: number) => [
    struck({ kind: 'step', at: at * 1_000, by, until: at * 1_000 }, at),
  ]
  expect(breaches(events, { struck: step(60_000, 1.5) })).toEqual(['L10 1.9'])
  expect(breaches(events, { struck: step(-60_000, 1.5) })).toEqual(['L10 1.9'])
})

test('a step forward that no worker notices makes a window shorter by as much', () => {
  const step = (by: number) => [struck({ kind: 'step', at: 1_500, by, until: 1_500 }, 1.5)]
  const two = [limit(TWO_IN_A_SECOND), ...ran(1, 1), ...ran(2, 1.2)]
  expect(breaches([...two, ...ran(3, 1.999)])).toEqual(['L10 1.999'])
  expect(breaches([...two, ...ran(3, 1.999)], { struck: step(1.5) })).toEqual([])
  expect(breaches([...two, ...ran(3, 1.997)], { struck: step(1.5) })).toEqual(['L10 1.997'])
})

test('a loss excuses what it can have taken, and nothing before or long after', () => {
  const events = [limit(TWO_IN_A_SECOND), ...OVERDRAWN]
  const loss = (at: number) => {
    const fault: Fault = {
      kind: 'restart',
      at: at * 1_000,
      down: 100,
      keeps: { butLast: 50 },
      until: at * 1_000 + 100,
    }
    return [struck(fault, at, at + 0.1)]
  }
  expect(breaches(events, { struck: loss(1.5) })).toEqual([])
  expect(breaches(events, { struck: loss(9) })).toEqual(['L10 1.9'])
  expect(breaches(events, { struck: loss(0.2) })).toEqual(['L10 1.9'])
  const limits = [{ do: 'limit', at: 100, key: 'k', capacity: 1, rate: { count: 1, per: 1_000 } }] as const
  expect(breaches(events, { struck: loss(0.2), plan: { actions: limits } })).toEqual([])
  const settledLate = [
    limit(TOKENS),
    started(1, 0.5, 6),
    settled(1, 1.2, 9),
    ended(1, 1.3),
    ...ran(2, 1.25, 2),
  ]
  expect(breaches(settledLate, { struck: loss(0.2) })).toEqual([])
})

test('a place that was given back is free, also where no answer came; where one came, from what it says', () => {
  const turn: HistoryEvent = { ...started(1, 1), type: 'start', isHeld: true } as HistoryEvent
  const events = [limit(ONE_AT_ONCE), turn, ...ran(2, 3)]
  const at = (second: number) => ({ at: second * SECOND, key: 'k', fence: 1 })
  expect(breaches(events)).toEqual(['L11 3'])
  expect(breaches(events, { left: [at(2)] })).toEqual([])
  expect(breaches(events, { left: [at(4)] })).toEqual(['L11 3'])
  expect(
    breaches([...events, { type: 'release', at: 4 * SECOND, id: 'j1', key: 'k' }], { left: [at(2)] }),
  ).toEqual(['L11 3'])
})
