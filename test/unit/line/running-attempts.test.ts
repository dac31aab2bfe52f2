import fc from 'fast-check'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import { Attempt } from '../../../src/line/attempt.ts'
import type { WorkerJob } from '../../../src/line/job.ts'
import { RunningAttempts } from '../../../src/line/running-attempts.ts'
import { ShapedJob } from '../../../src/line/shaped-job.ts'

const JOB: WorkerJob = {
  id: 'a',
  key: 'k',
  data: 'null',
  cost: 1,
  attempt: 1,
  fence: 1,
  crashes: 0,
  admittedAt: 0,
  settings: {
    attempts: 1,
    backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 },
    timeoutMs: 1_000,
  },
}

function attempt(): Attempt<null, null> {
  return new Attempt<null, null>(new ShapedJob(JOB, null, 0), JOB, () => undefined)
}

test('those that run are in the order in which they entered, whichever leave, and however often', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat()), { maxLength: 60 }), (steps) => {
      const running = new RunningAttempts<null, null>(new VirtualClock(0))
      const model = new Set<Attempt<null, null>>()
      const all: Attempt<null, null>[] = []
      for (const step of steps) {
        if (step === null || all.length === 0) {
          const entering = attempt()
          all.push(entering)
          model.add(entering)
          running.enter(entering)
        } else {
          const leaving = all[step % all.length]!
          model.delete(leaving)
          running.delete(leaving)
        }
        expect(running.size).toBe(model.size)
        const listed = [...running]
        expect(listed).toHaveLength(model.size)
        expect([...model].every((one, index) => one === listed[index])).toBe(true)
      }
    }),
  )
})

test('one that has left before it is timed needs no timer', () => {
  const set: number[] = []
  const wake = (at: number) => {
    set.push(at)
    return () => undefined
  }
  const running = new RunningAttempts<null, null>({ now: () => 0, wake })
  const [first, second] = [attempt(), attempt()]
  for (const one of [first, second]) running.enter(one)
  running.delete(second)
  running.time(second)
  expect(set).toEqual([])
  running.time(first)
  expect(set).toEqual([1_000_000])
})
