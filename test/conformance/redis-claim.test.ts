import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const ids = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id)

test('hands over every job that is due within the look-ahead, with its key and an epoch', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0)
  await stage.backend.verbs.freeze('a', 0.1 * SECOND, at(0))
  expect((await stage.claim(0, { lookAhead: 99_000 })).jobs).toEqual([])
  expect((await stage.claim(0, { lookAhead: 100_000 })).jobs).toEqual([
    { id: 'x', epoch: expect.any(Number), key: 'a' },
  ])
  expect((await stage.claim(0.1, { lookAhead: 100_000 })).jobs).toEqual([])
  expect(await stage.views.job('x', at(0.1))).toMatchObject({ state: 'handed', position: 1, attempt: 0 })
  expect(await stage.views.audit()).toMatchObject({ admitted: 1, waiting: 0, handed: 1 })
})

test.each([
  [0, 1],
  [99, 1],
  [100, 1],
  [101, 2],
  [250, 3],
  [400, 4],
])('a look-ahead of %i ms at 10/s hands over %i of a bucket, whatever waits', async (lookAheadMs, window) => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('abcdefgh', 0)
  expect(ids(await stage.hand(0, lookAheadMs))).toEqual([...'abcdefgh'].slice(0, window))
  expect(await stage.hand(0.05, lookAheadMs)).toEqual([])
  expect(await stage.inspect('a', 0)).toMatchObject({ jobs: 8, waiting: 8 })
  await stage.balances()
})

test.each([1_000, 20_000])(
  'of a bucket at %i/s with a quota 16 at most are handed over, and one more as one starts',
  async (rate) => {
    const quotas = [{ amount: 9_999, per: 'day' }]
    const stage = await RedisStage.open({
      '*': { capacity: 999, rate: `${rate}/s`, tolerance: '0.01ms', quotas },
    })
    for (let index = 0; index < 40; index++) await stage.admit(`j${index}`, 0)
    const handed = await stage.hand(0, 250)
    expect(ids(handed)).toEqual(Array.from({ length: 16 }, (_, index) => `j${index}`))
    expect(await stage.hand(0.1, 250)).toEqual([])
    await stage.gate(handed[0]!, 0.1)
    await stage.start(handed[0]!, 0.1)
    expect(ids(await stage.hand(0.1, 250))).toEqual(['j16'])
    await stage.balances()
  },
)

test('hands over one of each bucket in turn, however long another line has been overdue', async () => {
  const stage = await RedisStage.open('999, 20/s')
  for (let index = 0; index < 9; index++) await stage.admit(`h${index}`, 0, { key: 'hot' })
  await stage.lineUp('x', 0.9, { key: 'x' })
  await stage.lineUp('yz', 0.95, { key: 'y' })
  const { jobs } = await stage.claim(1, { lookAhead: 250_000 })
  expect(ids(jobs)).toEqual(['h0', 'x', 'y', 'h1', 'z', 'h2', 'h3', 'h4'])
})

test('where not all can go in one call, each bucket gets its share of it', async () => {
  const stage = await RedisStage.open('999, 20/s')
  for (let index = 0; index < 9; index++) await stage.admit(`h${index}`, 0, { key: 'hot' })
  await stage.lineUp('x', 0.95, { key: 'x' })
  expect(ids((await stage.claim(1, { lookAhead: 250_000, most: 3 })).jobs)).toEqual(['h0', 'x', 'h1'])
  await stage.lineUp('w', 0.96, { key: 'w' })
  expect(ids((await stage.claim(1, { lookAhead: 250_000, most: 3 })).jobs)).toEqual(['h2', 'w', 'h3'])
  await stage.balances()
})

test('as one starts, one more is handed over', async () => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('abcdef', 0)
  const [a] = await stage.hand(0, 250)
  await stage.gate(a!, 0)
  expect(await stage.hand(0, 250)).toEqual([])
  await stage.start(a!, 0)
  expect(ids(await stage.hand(0.05, 250))).toEqual(['d'])
  await stage.finish(a!, COMPLETED, 0.05)
  expect(await stage.hand(0.06, 250)).toEqual([])
})

test('one at a time where the interval is longer than the look-ahead', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('xyz', 0)
  expect(ids(await stage.hand(0, 250))).toEqual(['x'])
  expect(await stage.hand(5, 250)).toEqual([])
})

test('costs count as intervals in the look-ahead', async () => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('xyz', 0, { cost: 2 })
  expect(ids(await stage.hand(0, 250))).toEqual(['x', 'y'])
})

test('takes no more than asked for, and the rest next time', async () => {
  const stage = await RedisStage.open('9, 1/s', {})
  for (const [index, id] of [...'vwxyz'].entries()) await stage.lineUp(id, index / 1_000, { key: id })
  expect(ids((await stage.claim(1, { most: 2 })).jobs)).toEqual(['v', 'w'])
  expect(ids((await stage.claim(1, { most: 2 })).jobs)).toEqual(['x', 'y'])
  expect(ids((await stage.claim(1, { most: 2 })).jobs)).toEqual(['z'])
})

test('many that are due are handed over in calls of 100', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const keys = Array.from({ length: 500 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key, index) => stage.admit(`j${index}`, 0, { key })))
  const sizes: number[] = []
  for (let claimed = await stage.claim(0); claimed.jobs.length > 0; claimed = await stage.claim(0)) {
    sizes.push(claimed.jobs.length)
  }
  expect(sizes).toEqual([100, 100, 100, 100, 100])
})

test('no job of a paused or a frozen bucket, but jobs of others', async () => {
  const stage = await RedisStage.open('9, 1/s')
  for (const id of 'fpx') await stage.lineUp(id, 0, { key: id })
  await stage.backend.verbs.freeze('f', 9 * SECOND, at(0))
  await stage.backend.verbs.pause('p', at(0))
  expect(ids(await stage.hand(1, 250))).toEqual(['x'])
})

test('names the time at which there is something to do next', async () => {
  const stage = await RedisStage.open('9, 1/s')
  expect(await stage.claim(0)).toMatchObject({
    isElected: true,
    jobs: [],
    now: at(0),
    nextClaim: Number.POSITIVE_INFINITY,
    nextForgetting: Number.POSITIVE_INFINITY,
    nextRecovery: Number.POSITIVE_INFINITY,
    nextExpiry: Number.POSITIVE_INFINITY,
  })
  await stage.lineUp('x', 0)
  await stage.admit('y', 0, { deadline: at(60) })
  expect(await stage.claim(0, { lease: 7 * SECOND })).toMatchObject({
    nextRecovery: at(7),
    nextExpiry: at(60.005) + 1,
  })
  await stage.lineUp('z', 0, { key: 'b' })
  await stage.backend.verbs.freeze('b', 20 * SECOND, at(0))
  expect(await stage.claim(0, { lookAhead: SECOND })).toMatchObject({ nextClaim: at(19) })
})

test('a job that waits for its worker can still be cancelled, and the jobs behind it move up', async () => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('xyz', 0)
  const [x, y] = await stage.hand(0, 150)
  expect(await stage.backend.verbs.cancel('x', at(0))).toMatchObject({
    id: 'x',
    key: 'a',
    cost: 1,
    attempt: 0,
  })
  expect(await stage.state('x')).toBe('cancelled')
  expect(await stage.gate(x!, 0)).toEqual({ kind: 'stale' })
  expect(await stage.gate(y!, 0)).toMatchObject({ kind: 'granted', slot: at(0) })
  expect(await stage.inspect('a', 0)).toMatchObject({ waiting: 2, jobs: 2 })
  await stage.balances()
})

test('a job that was handed over counts in the bound and in the promise until it starts', async () => {
  const stage = await RedisStage.open('3, 10/s')
  await stage.lineUp('xyz', 0)
  const [x] = await stage.hand(0, 250)
  const refused = { accepted: false, reason: 'full', waiting: 3, retryAfterMs: 100 }
  expect((await stage.admit('q', 0)).admission).toMatchObject(refused)
  await stage.gate(x!, 0)
  expect((await stage.admit('q', 0)).admission).toMatchObject({ accepted: false, waiting: 3 })
  await stage.start(x!, 0)
  expect((await stage.admit('q', 0)).admission).toMatchObject({ position: 3, departsAt: msAt(0.3) })
})

test('expires jobs that were handed over and not granted', async () => {
  const stage = await RedisStage.open('9, 10/s')
  await stage.admit('x', 0, { deadline: at(1) })
  await stage.admit('y', 0, { deadline: at(1) })
  const [x, y] = await stage.hand(0, 250)
  await stage.gate(x!, 0)
  expect((await stage.backend.verbs.expire(0, at(2))).map(({ id }) => id)).toEqual(['y'])
  expect(await stage.gate(y!, 2)).toEqual({ kind: 'stale' })
  expect([await stage.state('y'), await stage.state('x')]).toEqual(['expired', 'handed'])
  await stage.balances()
})

test('expires 75 at a time', async () => {
  const stage = await RedisStage.open('999, 1/h')
  for (let index = 0; index < 450; index++)
    await stage.admit(`j${index}`, 0, { key: `${index}`, deadline: at(1) })
  const sizes: number[] = []
  for (let some = await stage.backend.verbs.expire(0, at(9)); some.length > 0; ) {
    sizes.push(some.length)
    some = await stage.backend.verbs.expire(0, at(9))
  }
  expect(sizes).toEqual([75, 75, 75, 75, 75, 75])
  await stage.balances()
})
