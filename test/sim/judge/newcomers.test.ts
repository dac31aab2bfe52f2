import { expect, test } from 'vitest'
import type { Breach } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { isOfNewcomer } from './newcomers.ts'
import { SECOND } from './planted.ts'

const NO_WAY = { least: 0, jitter: 0, spikes: 0, spike: 0 }
const plan = { network: { there: NO_WAY, back: NO_WAY, splits: 0 }, faults: [] } as unknown as Plan
const step = (at: number, by: number): Struck => {
  return {
    fault: { kind: 'step', at: at * 1_000, by, until: at * 1_000 },
    from: at * SECOND,
    until: at * SECOND,
  }
}
const start = (by: string, at: number): Seen => {
  return { by, event: { type: 'start', at: at * SECOND, id: 'a', key: 'k', cost: 1, attempt: 1 } }
}
const early = (at: number): Breach => {
  return { law: 'L2', at: at * SECOND, key: 'k', id: 'a', message: 'came 73.055 ms after that of job "b"' }
}
const lives = [
  { name: 'worker-1', from: 0, until: Number.POSITIVE_INFINITY },
  { name: 'worker-2', from: 2 * SECOND, until: Number.POSITIVE_INFINITY },
]

test('a start too early is excused in a worker that began as the clock was set forward, and only until older ones noticed', () => {
  const isExcused = (by: string, at: number, struck: Struck) =>
    isOfNewcomer(early(at), { plan, lives, struck: [struck] }, [start(by, at)])
  expect(isExcused('worker-2', 2.1, step(2.01, 5_000))).toBe(true)
  expect(isExcused('worker-2', 2.1, step(1.9, 5_000))).toBe(true)
  expect(isExcused('worker-1', 2.1, step(2.01, 5_000))).toBe(false)
  expect(isExcused('worker-2', 2.1, step(2.01, -5_000))).toBe(false)
  expect(isExcused('worker-2', 2.1, step(2.2, 5_000))).toBe(false)
  expect(isExcused('worker-2', 3.7, step(2.01, 5_000))).toBe(false)
  expect(isExcused('worker-2', 2.5, step(2.2, 5_000))).toBe(false)
})

test('no other breach is excused by a step of the clock', () => {
  const struck = [step(2.01, 5_000)]
  const seen = [start('worker-2', 2.1)]
  const frozen = { ...early(2.1), message: 'started while the key was frozen' }
  expect(isOfNewcomer({ ...early(2.1), law: 'L4' }, { plan, lives, struck }, seen)).toBe(false)
  expect(isOfNewcomer(frozen, { plan, lives, struck }, seen)).toBe(false)
})
