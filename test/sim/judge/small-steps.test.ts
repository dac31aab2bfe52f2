import { expect, test } from 'vitest'
import type { Breach } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import { aPlan, SECOND } from './planted.ts'
import { isOfSmallStep } from './small-steps.ts'

const NO_WAY = { least: 0, jitter: 0, spikes: 0, spike: 0 }
const plan = aPlan({ network: { there: NO_WAY, back: NO_WAY, splits: 0 } })
const step = (by: number): Struck => {
  return { fault: { kind: 'step', at: 2_000, by, until: 2_000 }, from: 2 * SECOND, until: 2 * SECOND }
}
const early = (at: number, gap: string): Breach => {
  const message = `the start of job "a" came ${gap} ms after that of job "b", expected at least 125.000 ms`
  return { law: 'L2', at: at * SECOND, key: 'k', id: 'a', message }
}

test('a gap is excused that is shorter by a thousandth of its interval, while a small step of the clock is followed', () => {
  const isExcused = (at: number, gap: string, by: number) =>
    isOfSmallStep(early(at, gap), { plan, struck: [step(by)] })
  expect(isExcused(2.2, '124.946', 1.8)).toBe(true)
  expect(isExcused(2.2, '124.840', 1.8)).toBe(true)
  expect(isExcused(2.2, '124.800', 1.8)).toBe(false)
  expect(isExcused(1.9, '124.946', 1.8)).toBe(false)
  expect(isExcused(5.4, '124.946', 1.8)).toBe(true)
  expect(isExcused(5.6, '124.946', 1.8)).toBe(false)
  expect(isExcused(2.2, '124.946', 2.1)).toBe(false)
})

test('a gap is excused that is shorter by a small step back, while a slow way explains that', () => {
  const way = { least: 18_000, jitter: 0, spikes: 0, spike: 0 }
  const slow = {
    kind: 'slow',
    part: 'worker-1',
    at: 1_000,
    for: 2_000,
    there: way,
    back: NO_WAY,
    until: 3_000,
  } as const
  const struck: Struck = { fault: slow, from: SECOND, until: 3 * SECOND }
  const isExcused = (at: number, gap: string, by: number, isSlow = true) =>
    isOfSmallStep(early(at, gap), {
      plan: isSlow ? { ...plan, faults: [slow] } : plan,
      struck: [step(by), ...(isSlow ? [struck] : [])],
    })
  expect(isExcused(2.2, '110.000', -15.4)).toBe(true)
  expect(isExcused(2.2, '109.000', -15.4)).toBe(false)
  expect(isExcused(1.9, '110.000', -15.4)).toBe(false)
  expect(isExcused(5, '110.000', -15.4)).toBe(false)
  expect(isExcused(2.2, '110.000', -30)).toBe(false)
  expect(isExcused(2.2, '110.000', -15.4, false)).toBe(false)
})

test('no other breach is excused by it', () => {
  const struck = [step(1.8)]
  expect(isOfSmallStep({ ...early(2.2, '124.946'), law: 'L10' }, { plan, struck })).toBe(false)
  const frozen = { ...early(2.2, '124.946'), message: 'started while the key was frozen' }
  expect(isOfSmallStep(frozen, { plan, struck })).toBe(false)
})
