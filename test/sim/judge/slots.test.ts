import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Fault } from '../plan/fault.ts'
import { accepted, aPlan, SECOND } from './planted.ts'
import { judgeSlots } from './slots.ts'

function limit(text: string, at: number): HistoryEvent {
  return { type: 'limit', at: at * SECOND, key: 'k', limit: parseLimit(text) }
}

function started(id: string, at: number): HistoryEvent[] {
  return [
    { ...accepted(id, at - 0.01).event },
    { type: 'start', at: at * SECOND, id, key: 'k', cost: 1, attempt: 1 },
  ]
}

function strikes(fault: Fault, from: number, until = from): Struck {
  return { fault, from: from * SECOND, until: until * SECOND }
}

const STALL = strikes({ kind: 'stall', at: 1_000, for: 3_000, until: 4_000 }, 1, 4)
const STEP = strikes({ kind: 'step', at: 1_000, by: -2_000, until: 1_000 }, 1)
const LOSS = strikes({ kind: 'restart', at: 1_000, down: 100, keeps: 'nothing', until: 1_100 }, 1, 1.1)

function breaches(
  history: readonly HistoryEvent[],
  struck: readonly Struck[],
  unsure: readonly { from: number; until: number }[] = [],
): number[] {
  const all = [limit('10, 1/s', 0), ...history].toSorted((a, b) => a.at - b.at)
  return judgeSlots({ plan: aPlan(), struck, unsure }, all).map(({ at }) => at / SECOND)
}

test('a limit that was replaced is not used for longer because something went wrong before', () => {
  const slower = [...started('a', 9), limit('10, 1 per 4s', 10), ...started('b', 10.5)]
  expect(breaches([...slower, ...started('c', 14.5)], [STALL])).toEqual([])
  expect(breaches([...slower, ...started('c', 12)], [STALL])).toEqual([12])
  expect(breaches([...slower, ...started('c', 12)], [])).toEqual([12])
  // It is not known when it was replaced, or whether.
  expect(breaches([...slower, ...started('c', 12)], [], [{ from: 9 * SECOND, until: 12 * SECOND }])).toEqual(
    [],
  )
  expect(breaches([...slower, ...started('c', 12)], [STEP])).toEqual([])
  expect(breaches([...slower, ...started('c', 12)], [LOSS])).toEqual([])
})

test.each([
  ['the clock of Redis was set', STEP],
  ['the store has lost something', LOSS],
])('a freeze and a pause that begin after %s hold', (_, cut) => {
  const frozen = (at: number): HistoryEvent[] => {
    return [{ type: 'freeze', at: at * SECOND, key: 'k', until: 20 * SECOND }, ...started('a', 15)]
  }
  const paused = (at: number): HistoryEvent[] => [
    { type: 'pause', at: at * SECOND, key: 'k' },
    ...started('a', 15),
  ]
  for (const held of [frozen, paused]) {
    expect(breaches(held(5), [cut])).toEqual([15])
    expect(breaches(held(14.9), [cut])).toEqual([])
    // It is not known how long one from before lasts.
    expect(breaches(held(0.5), [cut])).toEqual([])
    expect(breaches(held(5), [cut, strikes({ ...STEP.fault, at: 7_000 } as Fault, 7)])).toEqual([])
  }
})
