import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ForeignValueError } from '../../../src/core/errors.ts'
import {
  EMPTY_METER,
  fillMeter,
  forgottenAt,
  Meter,
  type MeterState,
  type MeterStore,
  type Reading,
} from '../../../src/meter.ts'

const STATE: MeterState = { level: 1, at: 5, blockedUntil: 0, interval: 1e6 }

/** A meter whose store answers so, synchronously or by a promise. */
function answering(answer: unknown, how: (answer: unknown) => unknown = (it) => it): Meter {
  const verb = () => how(answer)
  const store = { fill: verb, read: verb, drain: verb, close: async () => undefined }
  return new Meter('test', { limits: { '*': '10, 1/s' }, store: store as unknown as MeterStore })
}

describe('a store that returns nonsense', () => {
  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'to return an object, got: undefined'],
    ['a word', 'accepted', 'to return an object, got: "accepted"'],
    [
      'a verdict that is a word',
      { accepted: 'no', state: STATE, now: 5 },
      'accepted as true or false, got: "no"',
    ],
    [
      'a verdict that is a number',
      { accepted: 1, state: STATE, now: 5 },
      'accepted as true or false, got: 1',
    ],
    ['no state', { accepted: true, state: null, now: 5 }, 'to return a state, got: null'],
    ['no time', { accepted: true, state: STATE, now: Number.NaN }, 'now as a time in microseconds, got: NaN'],
    ...(['level', 'at', 'blockedUntil', 'interval'] as const).flatMap((field) =>
      [Number.NaN, -5, Number.POSITIVE_INFINITY, '1', undefined].map((value): [string, unknown, string] => [
        `${value} as ${field}`,
        { accepted: true, state: { ...STATE, [field]: value }, now: 5 },
        `a state with a number for ${field}, 0 or more`,
      ]),
    ),
  ])('accepts nothing: %s', async (_, answer, message) => {
    for (const how of [(it: unknown) => it, async (it: unknown) => it]) {
      const meter = answering(answer, how)
      await expect(meter.fill('k')).rejects.toThrow(ForeignValueError)
      await expect(meter.fill('k')).rejects.toThrow(message)
      if (message.includes('accepted')) continue
      await expect(meter.canAccept('k')).rejects.toThrow(ForeignValueError)
      await expect(meter.level('k')).rejects.toThrow(message)
    }
  })
})

test('a store that never replies is unavailable within two seconds, for each verb', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const meter = answering(undefined, () => new Promise(() => {}))
  const calls = [meter.fill('k'), meter.canAccept('k'), meter.level('k'), meter.drain('k')]
  const settled = Promise.allSettled(calls)
  await vi.advanceTimersByTimeAsync(2_000)
  for (const { status, ...rest } of await settled) {
    expect([status, rest]).toMatchObject(['rejected', { reason: { code: 'backend-unavailable' } }])
  }
})

test('callers get the error of the store', async () => {
  const reason = new Error('mine')
  await expect(answering(undefined, () => Promise.reject(reason)).fill('k')).rejects.toBe(reason)
  await expect(answering(undefined, () => Promise.reject(reason)).drain('k')).rejects.toBe(reason)
})

test('a custom store needs a map and the algorithm', async () => {
  const kept = new Map<string, MeterState>()
  let now = 1e15
  const store: MeterStore = {
    fill: ({ name, key, ...request }) => {
      const id = JSON.stringify([name, key])
      const { accepted, state } = fillMeter(kept.get(id) ?? EMPTY_METER, request, now)
      if (forgottenAt(state) > now) kept.set(id, state)
      else kept.delete(id)
      return { accepted, state, now }
    },
    read: async ({ name, key }): Promise<Reading> => ({ state: kept.get(JSON.stringify([name, key])), now }),
    drain: async ({ name, key }) => void kept.delete(JSON.stringify([name, key])),
    close: async () => undefined,
  }
  const meter = new Meter('test', { limits: { '*': '3, 1/s' }, store })
  expect(await meter.fill('k', 3)).toMatchObject({ accepted: true, full: true })
  expect(await meter.fill('k')).toMatchObject({ accepted: false, retryAfterMs: 1_000 })
  now += 1e6
  expect(await meter.canAccept('k')).toBe(true)
  await meter.drain('k')
  expect([kept.size, (await meter.level('k')).level]).toEqual([0, 0])
  await meter.fill('k')
  now += 2e6
  expect(await meter.fill('k', 0)).toMatchObject({ accepted: true, level: 0 })
  expect(kept.size).toBe(0)
})
