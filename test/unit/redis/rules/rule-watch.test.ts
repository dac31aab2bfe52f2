import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RuleWatch } from '../../../../src/redis/rules/rule-watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** How often the rule book of a process must be looked after, so that a change is known within a second. */
const OFTEN_MS = 500

test('follows again and again, also after a failure, until it is stopped', async () => {
  const follow = vi.fn(async () => {
    throw new Error('away')
  })
  const watch = new RuleWatch(follow)
  watch.start()
  expect(follow).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(10 * OFTEN_MS)
  expect(follow).toHaveBeenCalledTimes(10)
  watch.stop()
  await vi.advanceTimersByTimeAsync(10 * OFTEN_MS)
  expect(follow).toHaveBeenCalledTimes(10)
  expect(vi.getTimerCount()).toBe(0)
})

test('waits for an answer before it asks again, and does not ask again when it was stopped meanwhile', async () => {
  const answers: (() => void)[] = []
  const watch = new RuleWatch(() => new Promise((resolve) => void answers.push(resolve)))
  watch.start()
  await vi.advanceTimersByTimeAsync(10 * OFTEN_MS)
  expect(answers).toHaveLength(1)
  answers[0]!()
  await vi.advanceTimersByTimeAsync(OFTEN_MS)
  expect(answers).toHaveLength(2)
  watch.stop()
  answers[1]!()
  await vi.advanceTimersByTimeAsync(10 * OFTEN_MS)
  expect([answers.length, vi.getTimerCount()]).toEqual([2, 0])
})

test('that was stopped before it started never asks', async () => {
  const follow = vi.fn(async () => undefined)
  const watch = new RuleWatch(follow)
  watch.stop()
  watch.start()
  await vi.advanceTimersByTimeAsync(10 * OFTEN_MS)
  expect(follow).not.toHaveBeenCalled()
})
