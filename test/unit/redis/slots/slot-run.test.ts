import { expect, test } from 'vitest'
import { SlotRun } from '../../../../src/redis/slots/slot-run.ts'
import type { Grant } from '../../../../src/redis/slots/start-window.ts'
import type { FollowingJob } from '../../../../src/redis/verbs/follow.ts'

const PACE = { tolerance: 1_000, pattern: '*', jobs: [] }
const FIRST = { id: 'a1', epoch: 1, key: 'a', shard: 0 }
const NEXT = { job: { cost: 1 }, earliest: 0, latest: Number.POSITIVE_INFINITY } as FollowingJob
const START = { localAt: 100_000, at: 100_000 }

/** A run whose first job has started in its slot. */
function started(): SlotRun {
  const run = new SlotRun(FIRST)
  run.follow({ ...PACE, interval: 5_000 })
  run.started(START, { slot: START.at, tolerance: 1_000, job: { cost: 1 }, runInterval: 5_000 } as Grant)
  return run
}

test('a job follows the one before it by the interval that the store answered last', () => {
  const run = started()
  expect(run.grant(NEXT)).toMatchObject({ slot: expect.closeTo(105_000, -2), tolerance: 1_000 })
  run.follow({ ...PACE, interval: 9_000, tolerance: 2_000 })
  expect(run.grant(NEXT)).toMatchObject({ slot: expect.closeTo(109_000, -2), tolerance: 2_000 })
})

test('a job that was granted its slot before does not bring the interval of before back', () => {
  const run = started()
  const granted = run.grant(NEXT)!
  run.follow({ ...PACE, interval: 9_000 })
  run.started({ localAt: granted.slot, at: granted.slot }, granted)
  expect(run.grant(NEXT)).toMatchObject({ slot: expect.closeTo(114_000, -2) })
})

test('nothing follows where the store knows no interval: the next job asks for its slot', () => {
  const run = started()
  run.follow({ ...PACE, interval: 0 })
  expect(run.isStopped).toBe(true)
  expect(run.grant(NEXT)).toBeUndefined()
})

test.each([
  [1_000, 92],
  [20, 99.8],
  [0, 100],
])(
  'where the tolerance became %i us, a late start does not bring the next one closer than that allows',
  (tolerance, percent) => {
    const run = started()
    run.follow({ ...PACE, interval: 10_000 })
    const granted = run.grant(NEXT)!
    const late = granted.slot + 700
    run.started({ localAt: late, at: late }, granted)
    run.follow({ ...PACE, interval: 10_000, tolerance })
    const { startAt } = run.grant(NEXT)!
    expect(startAt - late).toBeGreaterThanOrEqual(percent * 100)
    expect(startAt - late).toBeLessThan(percent * 100 + 120)
  },
)
