import { expect, test } from 'vitest'
import { parseLimit } from '../../../src/core/limit.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { isOfLostLimit } from './lost-limits.ts'
import { SECOND } from './planted.ts'

const fault = { kind: 'restart', at: 10_000, down: 10, keeps: 'nothing', until: 10_010 } as const
const struck: readonly Struck[] = [{ fault, from: 10 * SECOND, until: 10.01 * SECOND }]
const breach = { law: 'L2', key: 'k', at: 12 * SECOND, message: '' } as const

function changed(at: number, key = 'k'): HistoryEvent[] {
  const limits = [0, at].map((time) => ({ at: time * SECOND, key, limit: parseLimit('9, 1/s', key) }))
  return limits.map((limit) => ({ type: 'limit', ...limit }))
}

test('a limit that was set just before all was lost may be lost with it', () => {
  expect(isOfLostLimit(breach, struck, changed(9.9))).toBe(true)
})

test('one that others knew, or that was set later, or of another key, is not lost, and other laws hold', () => {
  expect(isOfLostLimit(breach, struck, changed(3))).toBe(false)
  expect(isOfLostLimit(breach, struck, changed(11))).toBe(false)
  expect(isOfLostLimit(breach, struck, changed(9.9, 'other'))).toBe(false)
  expect(isOfLostLimit({ ...breach, at: 9.95 * SECOND }, struck, changed(9.9))).toBe(false)
  expect(isOfLostLimit({ ...breach, law: 'L4' }, struck, changed(9.9))).toBe(false)
  expect(isOfLostLimit(breach, [], changed(9.9))).toBe(false)
})

test('the gaps of the limit of before hold, and those of one that comes later', () => {
  const limits = (...changes: readonly [at: number, text: string][]) =>
    changes.map(
      ([at, text]): HistoryEvent => ({ type: 'limit', at: at * SECOND, key: 'k', limit: parseLimit(text) }),
    )
  const slower = limits([0, '9, 1/s'], [9.9, '9, 1 per 4s'])
  const start = { type: 'start', at: 11 * SECOND, id: 'a', key: 'k', cost: 1, attempt: 1 } as const
  const isExcused = (gap: number, changes: readonly HistoryEvent[]) => {
    const message = `came ${(gap * 1_000).toFixed(3)} ms after that of job "a", expected at least 3995.000 ms`
    return isOfLostLimit({ ...breach, message, at: (11 + gap) * SECOND }, struck, [...changes, start])
  }
  expect(isExcused(1, slower)).toBe(true)
  expect(isExcused(0.995, slower)).toBe(true)
  expect(isExcused(0.99, slower)).toBe(false)
  expect(isExcused(0.2, slower)).toBe(false)
  const again = (at: number) => [...slower, ...limits([at, '9, 1 per 4s'])]
  expect(isExcused(3, again(13))).toBe(true)
  expect(isExcused(3, again(12))).toBe(false)
})
