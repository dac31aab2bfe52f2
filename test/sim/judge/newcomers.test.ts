import { expect, test } from 'vitest'
import type { Breach } from '../../../src/testing.ts'
import type { Struck } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { isOfNewcomer } from './newcomers.ts'
import { SECOND } from './planted.ts'

const NO_WAY = { least: 0, jitter: 0, spikes: 0, spike: 0 }
const plan = {
  network: { there: NO_WAY, back: NO_WAY, splits: 0 },
  faults: [],
  keys: [{ key: 'k', quotas: [{ amount: 5, window: 4_000 }] }],
  actions: [],
} as unknown as Plan
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

test('a start of a newcomer is too early by no more than the clock was set forward', () => {
  const isExcused = (missing: number, ...struck: readonly Struck[]) => {
    const message = `came 73.000 ms after that of job "b", expected at least ${73 + missing}.000 ms`
    return isOfNewcomer({ ...early(2.1), message }, { plan, lives, struck }, [start('worker-2', 2.1)])
  }
  expect(isExcused(500, step(2.01, 500))).toBe(true)
  expect(isExcused(501, step(2.01, 500))).toBe(false)
  expect(isExcused(600, step(2.01, 500), step(2.05, 100))).toBe(true)
  expect(isExcused(600, step(2.01, 500), step(2.2, 100))).toBe(false)
})

test('no other breach is excused by a step of the clock', () => {
  const struck = [step(2.01, 5_000)]
  const seen = [start('worker-2', 2.1)]
  const frozen = { ...early(2.1), message: 'started while the key was frozen' }
  expect(isOfNewcomer({ ...early(2.1), law: 'L4' }, { plan, lives, struck }, seen)).toBe(false)
  expect(isOfNewcomer(frozen, { plan, lives, struck }, seen)).toBe(false)
})

test('a start beyond a quota is excused like one too early, and for a window where no older process is left that could tell', () => {
  const over = (at: number): Breach => ({ ...early(at), law: 'L10' })
  const others = [{ name: 'worker-1', from: 0, until: 2.02 * SECOND }, lives[1]!]
  const isExcused = (at: number, lived: typeof lives) =>
    isOfNewcomer(over(at), { plan, lives: lived, struck: [step(2.01, 5_000)] }, [start('worker-2', at)])
  expect([2.1, 3.7].map((at) => isExcused(at, lives))).toEqual([true, false])
  expect([2.1, 3.7, 6.1].map((at) => isExcused(at, others))).toEqual([true, true, false])
  // A producer has no clock of Redis.
  const producer = { name: 'producer-1', from: 0, until: Number.POSITIVE_INFINITY }
  expect(isExcused(3.7, [...others, producer])).toBe(true)
})

test('a caller can tell of a step if it has had a turn before', () => {
  const others = [
    { name: 'caller-1', from: 0, until: Number.POSITIVE_INFINITY },
    { name: 'worker-1', from: 0, until: 2.02 * SECOND },
    lives[1]!,
  ]
  const turn = (at: number): Seen => {
    return {
      by: 'caller-1',
      event: { type: 'start', at: at * SECOND, id: 't', key: 'k', cost: 1, attempt: 1 },
    }
  }
  const isExcused = (firstTurn: number) =>
    isOfNewcomer({ ...early(3.7), law: 'L10' }, { plan, lives: others, struck: [step(2.01, 5_000)] }, [
      start('worker-2', 3.7),
      turn(firstTurn),
    ])
  expect(isExcused(1.5)).toBe(false)
  expect(isExcused(3)).toBe(true)
})

test('a start is excused like one too early behind one from before the step, where no older process is left that could tell', () => {
  const gone = { name: 'worker-1', from: 0, until: 2.02 * SECOND }
  const alone = [gone, lives[1]!]
  interface Gap {
    readonly least?: number
    readonly before?: Seen
    readonly lived?: typeof lives
  }
  const isExcused = (
    gap: number,
    { least = 4_000, before = start('worker-1', 1.9), lived = alone }: Gap = {},
  ) => {
    const at = before.event.at / SECOND + gap / 1_000
    const message = `came ${gap}.000 ms after that of job "b", expected at least ${least}.000 ms`
    const breach = { ...early(at), message }
    const older = { ...before, event: { ...before.event, id: 'b' } } as Seen
    return isOfNewcomer(breach, { plan, lives: lived, struck: [step(2.01, 3_000)] }, [
      older,
      start('worker-2', at),
    ])
  }
  expect(isExcused(2_500)).toBe(true)
  // An older one was left, and told the store.
  expect(isExcused(2_500, { lived: lives })).toBe(false)
  // Shorter by more than the step.
  expect(isExcused(2_500, { least: 5_501 })).toBe(false)
  expect(isExcused(2_500, { least: 5_500 })).toBe(true)
  // Both by the clock of after the step; and one by that of before, which its process had not read again.
  expect(isExcused(2_500, { before: start('worker-2', 2.3) })).toBe(false)
  expect(isExcused(2_500, { before: start('worker-1', 2.015) })).toBe(true)
  expect(isExcused(2_500, { before: start('worker-1', 3.6) })).toBe(false)
})

test('a caller begins to read the clock with its first turn', () => {
  const lived = [lives[0]!, { name: 'caller-1', from: 0, until: Number.POSITIVE_INFINITY }]
  const isExcused = (...seen: readonly Seen[]) =>
    isOfNewcomer(early(2.1), { plan, lives: lived, struck: [step(2.01, 5_000)] }, [
      ...seen,
      start('caller-1', 2.1),
    ])
  expect(isExcused()).toBe(true)
  expect(isExcused(start('worker-1', 1))).toBe(true)
  expect(
    isExcused({ ...start('caller-1', 1.9), event: { ...start('caller-1', 1.9).event, id: 'b' } as never }),
  ).toBe(false)
})
