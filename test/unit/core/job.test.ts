import { expect, test } from 'vitest'
import { BUCKET_STATES, bucketState } from '../../../src/core/bucket-view.ts'
import { isEnded, type JobState, mayBecome, retryAfterMs } from '../../../src/core/job.ts'

const states: JobState[] = [
  'waiting',
  'handed',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'expired',
]

test('four states are end states, and no job leaves them', () => {
  const ended = states.filter(isEnded)
  expect(ended).toEqual(['completed', 'failed', 'cancelled', 'expired'])
  for (const from of ended) expect(states.filter((to) => mayBecome(from, to))).toEqual([])
})

test('a job runs only after it was handed over, and ends from running or from the line', () => {
  expect(states.filter((from) => mayBecome(from, 'running'))).toEqual(['handed'])
  expect(states.filter((from) => mayBecome(from, 'completed'))).toEqual(['running'])
  expect(states.filter((from) => mayBecome(from, 'failed'))).toEqual(['running'])
  expect(states.filter((from) => mayBecome(from, 'cancelled'))).toEqual(['waiting', 'retrying'])
  expect(states.filter((from) => mayBecome(from, 'expired'))).toEqual(['waiting', 'retrying'])
})

test('a wait is rounded up to whole milliseconds, at least one', () => {
  expect([0, 1, 1_000, 1_001, 2_500].map(retryAfterMs)).toEqual([1, 1, 1, 2, 3])
  expect(retryAfterMs(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
})

test('the rounding error of times since the epoch does not count as a wait', () => {
  const now = 1_700_000_000_000_000
  expect(retryAfterMs(now + 3_000.25 - now)).toBe(3)
})

test('a pause hides a freeze, and both hide how full a bucket is', () => {
  expect(bucketState(5, 5, true, true)).toBe('paused')
  expect(bucketState(5, 5, false, true)).toBe('frozen')
})

test('a bucket is idle while nothing waits, and full when not one cost unit fits', () => {
  expect([0, 1, 4, 5, 6].map((waiting) => bucketState(waiting, 5, false, false))).toEqual([
    'idle',
    'waiting',
    'waiting',
    'full',
    'full',
  ])
  expect(BUCKET_STATES).toContain(bucketState(0, 0, false, false))
})
