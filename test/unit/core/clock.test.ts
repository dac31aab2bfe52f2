import { expect, test, vi } from 'vitest'
import { monotonicNow, wallClockMs } from '../../../src/core/clock.ts'

test('the clock counts microseconds since the epoch', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'], now: 1_800_000_000_000 })
  const before = monotonicNow()
  vi.advanceTimersByTime(250)
  expect(monotonicNow() - before).toBeCloseTo(250_000, -1)
  vi.useRealTimers()
  expect(new Date(monotonicNow() / 1_000).getUTCFullYear()).toBeGreaterThan(2_023)
})

test('a step of the wall clock moves only the wall clock', () => {
  const before = monotonicNow()
  vi.setSystemTime(7)
  expect(monotonicNow()).toBeGreaterThanOrEqual(before)
  expect(wallClockMs()).toBe(7)
  vi.useRealTimers()
})
