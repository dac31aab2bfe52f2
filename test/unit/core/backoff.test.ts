import { expect, test } from 'vitest'
import { type Backoff, backoffDelay } from '../../../src/core/backoff.ts'

const fixed: Backoff = { type: 'fixed', delayMs: 100, maxDelayMs: 1_000, jitter: 0 }
const exponential: Backoff = { ...fixed, type: 'exponential' }

test('a fixed backoff is the same after every attempt', () => {
  expect([1, 2, 9].map((attempt) => backoffDelay(fixed, attempt, 0.5))).toEqual([100_000, 100_000, 100_000])
})

test('an exponential backoff doubles up to its longest', () => {
  const delays = [1, 2, 3, 4, 5, 2_000].map((attempt) => backoffDelay(exponential, attempt, 0.5))
  expect(delays).toEqual([100_000, 200_000, 400_000, 800_000, 1_000_000, 1_000_000])
})

test('jitter takes away up to its share', () => {
  const jittery = { ...fixed, jitter: 0.5 }
  expect([0, 0.5, 1].map((random) => backoffDelay(jittery, 1, random))).toEqual([100_000, 75_000, 50_000])
})
