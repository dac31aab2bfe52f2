import { expect, test } from 'vitest'
import { BackendUnavailableError } from '../../../src/core/errors.ts'
import type { Admission } from '../../../src/core/job.ts'
import type { JobRequest } from '../../../src/line/job.ts'
import { LocalLimits } from '../../../src/line/local-limits.ts'
import { admitUnderLocalLimitsAsync } from '../../../src/line/under-local-limits.ts'

const SECOND = 1_000_000

class Stage {
  now = SECOND
  readonly limits = new LocalLimits({
    now: () => this.now,
    isGoverned: () => true,
    onChange: () => undefined,
  })

  constructor(limit: string) {
    this.limits.set('*', limit)
  }

  /** Whether so many units are let in, and then counts them. */
  take(key: string, units = 1): boolean {
    if (this.limits.refusal(key, units) !== undefined) return false
    this.limits.hold(key, units)(units)
    return true
  }
}

test('empty levels are forgotten on later requests', () => {
  const stage = new Stage('1, 1/s')
  for (let n = 0; n < 10_000; n++) {
    expect(stage.take(`k${n}`)).toBe(true)
    stage.now += SECOND / 100
  }
  // A hundred are alive at a time, and each that comes looks at two.
  expect(stage.limits.size).toBeLessThan(400)
  stage.now += 10 * SECOND
  for (let n = 0; n < 400; n++) stage.take('one')
  expect(stage.limits.size).toBe(1)
})

test('a request that the limit or the line refuses leaves nothing behind', () => {
  const { limits } = new Stage('2, 1/s')
  for (let n = 0; n < 100; n++) {
    limits.refusal(`k${n}`, 3)
    limits.hold(`k${n}`, 1)(0)
  }
  expect(limits.size).toBe(0)
})

test('removing the last limit removes all levels, and requests in flight count nowhere', () => {
  const stage = new Stage('2, 1/s')
  stage.take('a', 2)
  const release = stage.limits.hold('b', 1)
  stage.limits.unset('*')
  expect([stage.limits.size, stage.limits.isEmpty]).toEqual([0, true])
  release(1)
  expect(stage.limits.size).toBe(0)
  expect(stage.limits.refusal('a', 5)).toBeUndefined()
})

test('requests that the line judges count meanwhile, and leak once they are admitted', () => {
  const stage = new Stage('2, 1/s')
  const one = stage.limits.hold('k', 1)
  const two = stage.limits.hold('k', 1)
  stage.now += 5 * SECOND
  expect(stage.limits.refusal('k', 1)).toMatchObject({ reason: 'full', waiting: 2, retryAfterMs: 1_000 })
  two(0)
  expect(stage.limits.refusal('k', 1)).toBeUndefined()
  one(1)
  expect(stage.limits.refusal('k', 2)).toMatchObject({ waiting: 1, retryAfterMs: 1_000 })
})

test('a request admitted after the limit was lowered still counts', () => {
  const stage = new Stage('5, 1/s')
  const release = stage.limits.hold('k', 5)
  stage.limits.set('*', '1, 1/s')
  release(5)
  expect(stage.limits.refusal('k', 1)).toMatchObject({ waiting: 5, capacity: 1, retryAfterMs: 5_000 })
})

test('a large capacity is reported in whole numbers, never above itself', () => {
  const stage = new Stage('1000000000, 3/s')
  stage.take('k', 999_999_999)
  for (let n = 0; n < 50; n++) {
    stage.now += 7_777
    stage.take('k')
    const { waiting } = stage.limits.refusal('k', 1_000_000_000)!
    expect(Number.isInteger(waiting) && waiting <= 1_000_000_000).toBe(true)
  }
})

const requestOf = (id?: string, isTurn?: true): JobRequest => ({
  id,
  key: 'k',
  data: '0',
  cost: 1,
  deadline: Number.POSITIVE_INFINITY,
  settings: { attempts: 1, backoff: { type: 'fixed', delayMs: 1, maxDelayMs: 1, jitter: 0 }, timeoutMs: 1 },
  ...(isTurn && { isTurn }),
})
const accepted: Admission = {
  accepted: true,
  id: 'x',
  key: 'k',
  position: 1,
  departsAt: 0,
  waitMs: 0,
  waiting: 1,
  capacity: 9,
}

test('on a slow line, concurrent requests get no more than the limit', async () => {
  const { limits } = new Stage('2, 1/h')
  const answers: ((verdicts: Admission[]) => void)[] = []
  const line = {
    isKnown: async () => false,
    admit: () => new Promise<Admission[]>((resolve) => void answers.push(resolve)),
    onRefused: () => undefined,
  }
  const asked = [1, 2, 3].map(() => admitUnderLocalLimitsAsync(limits, [requestOf()], line))
  expect(await asked[2]).toMatchObject([{ accepted: false, local: true }])
  expect(answers).toHaveLength(2)
  for (const answer of answers) answer([accepted])
  expect(await Promise.all(asked)).toMatchObject([[{ accepted: true }], [{ accepted: true }], [{}]])
})

test.each([
  ['that is away counts all that may have been admitted', new BackendUnavailableError('away'), 'full'],
  ['that finds a fault in one admits none', new Error('conflict'), undefined],
])('a line %s', async (_, error, reason) => {
  const { limits } = new Stage('2, 1/h')
  const refusals: unknown[] = []
  const line = {
    isKnown: async () => false,
    admit: () => Promise.reject(error),
    onRefused: (...refused: unknown[]) => void refusals.push(refused),
  }
  await expect(
    admitUnderLocalLimitsAsync(limits, [requestOf(), requestOf(), requestOf()], line),
  ).rejects.toBe(error)
  expect(limits.refusal('k', 1)?.reason).toBe(reason)
  // No verdict was returned.
  expect(refusals).toEqual([])
})

test('only ids that may come again are looked up', async () => {
  const { limits } = new Stage('9, 1/h')
  const looked: string[] = []
  const line = {
    isKnown: async (id: string) => looked.push(id) < 0,
    admit: async (some: readonly JobRequest[]) => some.map(() => accepted),
    onRefused: () => undefined,
  }
  await admitUnderLocalLimitsAsync(limits, [requestOf(), requestOf('a'), requestOf('t', true)], line)
  expect(looked).toEqual(['a'])
})

test('rules and levels count as use of the heap by their first segment, until they are gone', () => {
  const stage = new Stage('1, 1/s')
  const { use } = stage.limits
  const ofRule = use.of('*')
  expect(ofRule).toBeGreaterThan(0)
  stage.limits.set('*', '2, 1/s')
  expect(use.of('*')).toBe(ofRule)
  for (const key of ['a/1', 'a/2', 'a/2', 'b/1']) stage.take(key)
  expect(use.of('a')).toBe(2 * use.of('b'))
  expect(use.of('b')).toBeGreaterThan(0)
  stage.now += 10 * SECOND
  for (let n = 0; n < 6; n++) stage.take('c')
  expect([use.of('a'), use.of('b')]).toEqual([0, 0])
  // One whose units are not settled is removed with the last limit, too.
  stage.limits.hold('d', 1)
  expect(use.of('d')).toBeGreaterThan(0)
  stage.limits.unset('*')
  expect([use.sum().bytes, use.sum().segments]).toEqual([0, 0])
})
