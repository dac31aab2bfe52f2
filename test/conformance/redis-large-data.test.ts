import { expect, test } from 'vitest'
import { ForeignValueError, IdConflictError } from '../../src/core/errors.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const KIB = 1_024
/** JSON of so many bytes. */
const text = (bytes: number, letter = 'x') => `"${letter.repeat(bytes - 2)}"`
const LARGE = text(4 * KIB + 1)
const SMALL = text(4 * KIB)

/** What the packed job of an id takes. */
const recordSize = (stage: RedisStage, id: string) => stage.redis.hstrlen(shardKey(stage.tag, 'jobs'), id)
const inData = (stage: RedisStage) => stage.redis.hlen(shardKey(stage.tag, 'data'))

test('a slot is reserved for large data only when they have been fetched; it comes without them', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { data: LARGE })
  const [x] = await stage.hand(0)
  const before = await stage.inspect('a', 0)
  expect(await stage.gate(x!, 0)).toEqual({ kind: 'data', bytes: LARGE.length })
  expect(await stage.inspect('a', 0)).toEqual(before)
  expect(await stage.backend.verbs.fetch(0, [x!])).toEqual([{ kind: 'yes', data: LARGE }])
  expect(await stage.gate(x!, 0, { hasData: true })).toMatchObject({
    kind: 'granted',
    slot: at(0),
    job: { id: 'x', data: '', attempt: 1 },
  })
  expect(await stage.start(x!, 0)).toBe(true)
  await stage.balances()
})

test('a worker that dies while it fetches large data holds the job for one lease, also after a long silence', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { data: LARGE })
  const [x] = await stage.hand(0)
  stage.isSilent = true
  await stage.claim(1_000)
  stage.isSilent = false
  expect(await stage.gate(x!, 1_000)).toEqual({ kind: 'data', bytes: LARGE.length })
  expect(await stage.recover(1_029.9)).toEqual([])
  expect(await stage.recover(1_030)).toMatchObject([{ id: 'x' }])
  await stage.balances()
})

test('data of up to 4 KiB come with the slot', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { data: SMALL })
  expect(await inData(stage)).toBe(0)
  expect(await stage.gate((await stage.hand(0))[0]!, 0)).toMatchObject({
    kind: 'granted',
    job: { data: SMALL },
  })
})

test('an answer for 50 jobs of 300 KB each carries none of their data', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const data = text(300_000)
  for (let index = 0; index < 50; index++) await stage.admit(`j${index}`, 0, { key: `${index}`, data })
  const jobs = await stage.hand(0)
  const asked = jobs.map((job) => ({ ...job, worker: 'w1', lead: 0, error: 0, lease: 9e6 }))
  const { answers } = await stage.backend.verbs.gate(0, asked, at(0))
  expect(answers).toEqual(jobs.map(() => ({ kind: 'data', bytes: data.length })))
})

test('a worker that asks keeps the lease while the data are fetched', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { data: LARGE })
  const [x] = await stage.hand(0)
  await stage.gate(x!, 29)
  expect(await stage.recover(31)).toEqual([])
})

test('of a paused or frozen bucket no data are fetched: the job goes back', async () => {
  const stage = await RedisStage.open('9, 1/s')
  for (const key of ['p', 'f']) await stage.admit(key, 0, { key, data: LARGE })
  const jobs = await stage.hand(0)
  await stage.backend.verbs.pause('p', at(0))
  await stage.backend.verbs.freeze('f', 9e6, at(0))
  for (const job of jobs) expect(await stage.gate(job, 0)).toEqual({ kind: 'returned' })
  await stage.balances()
})

test('only the worker that holds the job gets its data; what is unreadable costs the others nothing', async () => {
  const stage = await RedisStage.open('9, 1/s')
  for (const id of 'xyz') await stage.admit(id, 0, { key: id, data: LARGE })
  const [x, y, z] = await stage.hand(0)
  await stage.redis.hdel(shardKey(stage.tag, 'data'), 'y')
  const asked = [{ ...x!, epoch: x!.epoch + 1 }, y!, z!, { id: 'unknown', epoch: 1 }]
  expect(await stage.backend.verbs.fetch(0, asked)).toEqual([
    { kind: 'stale' },
    { kind: 'foreign' },
    { kind: 'yes', data: LARGE },
    { kind: 'stale' },
  ])
})

test('the packed job does not grow with its data, and a look at the job shows them', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  await stage.admit('x', 0, { data: text(500_000) })
  await stage.admit('y', 0, { data: text(500_000), traceparent })
  expect(await recordSize(stage, 'x')).toBeLessThan(200)
  expect(await recordSize(stage, 'y')).toBeLessThan(300)
  expect(await stage.views.job('x', at(0))).toMatchObject({ data: 'x'.repeat(499_998) })
  const [, y] = await stage.hand(0, 1_000).then(async ([x]) => {
    await stage.gate(x!, 0, { hasData: true })
    await stage.start(x!, 0)
    return [x, ...(await stage.hand(1))]
  })
  expect(await stage.gate(y!, 1, { hasData: true })).toMatchObject({ job: { traceparent } })
})

test('the same request again gets the first answer; other data under its id are refused', async () => {
  const stage = await RedisStage.open('9, 1/s')
  const first = await stage.admit('x', 0, { data: LARGE })
  expect((await stage.admit('x', 1, { data: LARGE })).admission).toMatchObject({
    ...first.admission,
    replayed: true,
    waitMs: expect.any(Number),
  })
  for (const data of [text(LARGE.length, 'y'), text(LARGE.length + 1), SMALL, '1']) {
    await expect(stage.admit('x', 1, { data })).rejects.toThrow(IdConflictError)
  }
})

test('data are forgotten with their job', async () => {
  const stage = await RedisStage.open('9, 1/s', { keepFinished: 0 })
  await stage.admit('x', 0, { data: LARGE })
  const [x] = await stage.hand(0)
  await stage.gate(x!, 0, { hasData: true })
  await stage.start(x!, 0)
  await stage.finish(x!, COMPLETED, 1)
  expect(await inData(stage)).toBe(1)
  await stage.claim(20)
  expect(await inData(stage)).toBe(0)
})

test('a job that an older version admitted, with its data in the packed job, departs all the same', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.admit('x', 0, { data: '7' })
  const jobs = shardKey(stage.tag, 'jobs')
  const record = await stage.redis.hgetBuffer(jobs, 'x')
  await stage.redis.hset(jobs, 'x', Buffer.concat([record!.subarray(0, -1), Buffer.from(LARGE)]))
  const [x] = await stage.hand(0)
  expect(await stage.gate(x!, 0)).toEqual({ kind: 'data', bytes: LARGE.length })
  expect(await stage.backend.verbs.fetch(0, [x!])).toEqual([{ kind: 'yes', data: LARGE }])
  expect(await stage.gate(x!, 0, { hasData: true })).toMatchObject({ kind: 'granted' })
})

test('something else under the name of the data is left alone: large ones are refused, all others go on', async () => {
  const stage = await RedisStage.open('9, 1/s', { keepFinished: 0 })
  await stage.redis.set(shardKey(stage.tag, 'data'), 'not ours')
  await expect(stage.admit('x', 0, { data: LARGE })).rejects.toThrow(ForeignValueError)
  await stage.lineUp('y', 0)
  await stage.finish(await stage.run(0), COMPLETED, 1)
  await stage.claim(20)
  expect(await stage.state('y', 20)).toBeUndefined()
  expect(await stage.redis.get(shardKey(stage.tag, 'data'))).toBe('not ours')
})
