import { expect, test } from 'vitest'
import { isEnded, type JobState, mayBecome } from '../../../src/core/job.ts'

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

test('four states are ends, and nothing leaves them', () => {
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
