import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Fault, Keeps } from '../plan/fault.ts'
import { judgeAroundLosses } from './losses.ts'
import { SECOND } from './planted.ts'

const LIMIT: HistoryEvent = { type: 'limit', at: 0, key: 'k', limit: parseLimit('1, 1/s') }

function accepted(id: string, at: number): HistoryEvent {
  return { type: 'answer', at: at * SECOND, id, key: 'k', cost: 1, accepted: true, departsAt: at * SECOND }
}

function ran(id: string, at: number): HistoryEvent[] {
  return [
    { type: 'start', at: at * SECOND, id, key: 'k', cost: 1, attempt: 1 },
    { type: 'end', at: at * SECOND + 1_000, id, outcome: 'completed' },
  ]
}

function restart(at: number, keeps: Keeps): Struck {
  const fault: Fault = { kind: 'restart', at: at * 1_000, down: 100, keeps, until: at * 1_000 + 100 }
  return { fault, from: at * SECOND, until: (at + 0.1) * SECOND }
}

function laws(history: readonly HistoryEvent[], struck: readonly Struck[]): string[] {
  return judgeAroundLosses([LIMIT, ...history], struck, () => 0, false).map(({ law }) => law)
}

/** Two wait where one may. */
const OVERFULL = [accepted('a', 1), accepted('b', 1.1), ...ran('a', 2), ...ran('b', 3)]
const TWICE = [accepted('a', 1), ...ran('a', 2), ...ran('a', 3)]

test.each([
  ['some', { butLast: 500 }],
  ['all', 'nothing'],
] as const)('a breach before the first lost write counts, though the store loses %s later', (_, keeps) => {
  expect(laws(OVERFULL, [restart(20, keeps)])).toEqual(['L1'])
  expect(laws(TWICE, [restart(20, keeps)])).toContain('L5')
})

test('what a loss can explain does not count', () => {
  expect(laws(OVERFULL, [restart(1.05, { butLast: 500 })])).toEqual([])
  expect(laws(TWICE, [restart(2.5, { butLast: 1_000 })])).toEqual([])
  expect(laws([accepted('a', 1)], [restart(20, { butLast: 500 })])).toEqual([])
})

test('what was accepted after a loss runs once, in order, and to its end', () => {
  const lost = restart(2, 'nothing')
  const limited = (...events: readonly HistoryEvent[]): HistoryEvent[] => [
    { ...LIMIT, limit: parseLimit('9, 1/s') } as HistoryEvent,
    accepted('old', 1),
    ...events,
  ]
  const overtaken = [accepted('a', 3), accepted('b', 3.1), ...ran('b', 4), ...ran('a', 5)]
  expect(laws(limited(accepted('a', 3), ...ran('a', 4)), [lost])).toEqual([])
  expect(laws(limited(accepted('a', 3), ...ran('a', 4), ...ran('a', 5)), [lost])).toContain('L5')
  expect(laws(limited(accepted('a', 3)), [lost])).toEqual(['L5'])
  expect(laws(limited(...overtaken), [lost])).toEqual(['L4'])
  // What was there before may have been forgotten: it ends unheard, or is asked for again.
  expect(laws(limited(...ran('old', 4), accepted('old', 5), ...ran('old', 6)), [lost])).toEqual([])
  expect(laws(limited(...overtaken), [lost, restart(3.5, 'nothing')])).toEqual([])
  expect(laws(limited(...overtaken), [lost, restart(9, { butLast: 500 })])).toContain('L4')
})

test('a start too early counts whatever was lost', () => {
  const early = [accepted('a', 1), ...ran('a', 2), accepted('b', 2.1), ...ran('b', 2.2)]
  expect(laws(early, [restart(2.15, 'nothing')])).toEqual(['L2'])
})

test('a start in a freeze counts where the clock is set only later', () => {
  const freeze: HistoryEvent = { type: 'freeze', at: 1.5 * SECOND, key: 'k', until: 9 * SECOND }
  const step: Struck = {
    fault: { kind: 'step', at: 20_000, by: -5_000, until: 20_000 },
    from: 20 * SECOND,
    until: 20 * SECOND,
  }
  const history = [accepted('a', 1), freeze, ...ran('a', 2)]
  expect(laws(history, [step])).toEqual(['L2'])
  expect(laws(history, [{ ...step, from: 1.2 * SECOND }])).toEqual([])
})

test('before the first fault news takes no longer than it takes where nothing is wrong', () => {
  const stall: Struck = {
    fault: { kind: 'stall', at: 20_000, for: 9_000, until: 29_000 },
    from: 20 * SECOND,
    until: 29 * SECOND,
  }
  const lagBefore = (at: number) => (at > 20 * SECOND ? 30 * SECOND : 0)
  const paused: HistoryEvent[] = [
    accepted('a', 1),
    { type: 'pause', at: 1.2 * SECOND, key: 'k' },
    ...ran('a', 2),
  ]
  const found = judgeAroundLosses([LIMIT, ...paused], [stall], lagBefore, false)
  expect(found.map(({ law }) => law)).toEqual(['L2'])
  expect(
    judgeAroundLosses([LIMIT, ...paused], [{ ...stall, from: SECOND }], () => 30 * SECOND, false),
  ).toEqual([])
})
