import { expect, test } from 'vitest'
import type { HistoryEvent } from '../../../src/testing.ts'
import { lostReturns } from './lost-returns.ts'
import { SECOND } from './planted.ts'

const start = (at: number, attempt: number): HistoryEvent => {
  return { type: 'start', at: at * SECOND, id: 'a', key: 'k', cost: 1, attempt }
}
const end = (at: number, outcome: 'expired' | 'cancelled' | 'failed'): HistoryEvent => {
  return { type: 'end', at: at * SECOND, id: 'a', outcome }
}
const failed = [{ at: 2 * SECOND, id: 'a', attempt: 1, reason: 'retry' as const }]

test('a job that failed has gone back into its line where its next attempt starts, or where it expires or is cancelled', () => {
  expect(lostReturns([start(1, 1), start(3, 2)], failed)).toMatchObject([{ type: 'return', at: 2 * SECOND }])
  expect(lostReturns([start(1, 1), end(3, 'expired')], failed)).toMatchObject([{ type: 'return', id: 'a' }])
  expect(lostReturns([start(1, 1), end(3, 'cancelled')], failed)).toHaveLength(1)
})

test('a job whose attempt starts again, or whose attempt was its last, has not gone back', () => {
  expect(lostReturns([start(1, 1), start(3, 1)], failed)).toEqual([])
  expect(lostReturns([start(1, 1), end(3, 'failed')], failed)).toEqual([])
  expect(lostReturns([start(1, 1), end(3, 'expired')], [])).toEqual([])
})

test('a job that had ended before its handler did has not gone back', () => {
  expect(lostReturns([start(1, 1), end(1.5, 'expired')], failed)).toEqual([])
})
