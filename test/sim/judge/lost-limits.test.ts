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
