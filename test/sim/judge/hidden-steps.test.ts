import { expect, test } from 'vitest'
import type { Breach } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { isOfHiddenStep } from './hidden-steps.ts'
import { aPlan, SECOND } from './planted.ts'

const NO_WAY = { least: 0, jitter: 0, spikes: 0, spike: 0 }
const plan = aPlan({ network: { there: NO_WAY, back: NO_WAY, splits: 0 } })
const step = (at: number, by: number): Struck => {
  const from = at * SECOND
  return { fault: { kind: 'step', at: at * 1_000, by, until: at * 1_000 }, from, until: from }
}
const BACK_AND_FORTH = [step(2, -9_000), step(2.8, 9_000)]
/** A start at `at` right behind one at `before`; seconds. */
const early = (before: number, at: number): Breach => {
  const message = `the start of job "a" came ${(at - before) * 1_000} ms after that of job "b", expected at least 1000 ms`
  return { law: 'L2', at: at * SECOND, key: 'k', id: 'a', message }
}

test('a gap is excused behind a start for which the clock of Redis was set back, if it was set forward within a second', () => {
  const isExcused = (before: number, at: number, struck: readonly Struck[] = BACK_AND_FORTH) =>
    isOfHiddenStep(early(before, at), { plan, struck })
  expect(isExcused(2.5, 2.9)).toBe(true)
  expect(isExcused(1.9, 2.9)).toBe(false)
  expect(isExcused(2.85, 2.9)).toBe(false)
  expect(isExcused(2.5, 2.7)).toBe(false)
  expect(isExcused(2.5, 2.9, [step(2, -9_000)])).toBe(false)
  expect(isExcused(2.5, 2.9, [step(2.8, 9_000)])).toBe(false)
  expect(isExcused(2.5, 2.9, [step(2, 9_000), step(2.8, -9_000)])).toBe(false)
  expect(isExcused(2.5, 2.9, [step(2, -500), step(2.8, 500)])).toBe(false)
  expect(isExcused(2.5, 3.2, [step(2, -9_000), step(3.1, 9_000)])).toBe(false)
})

test('no other breach is excused by it', () => {
  const known = { plan, struck: BACK_AND_FORTH }
  expect(isOfHiddenStep({ ...early(2.5, 2.9), law: 'L10' }, known)).toBe(false)
  expect(isOfHiddenStep({ ...early(2.5, 2.9), message: 'started while the key was frozen' }, known)).toBe(
    false,
  )
})
