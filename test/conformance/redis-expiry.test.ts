import { expect, test } from 'vitest'
import { BackendUnavailableError } from '../../src/core/errors.ts'
import { Store } from '../../src/redis/scripts/store.ts'
import { cancelVerb } from '../../src/redis/verbs/cancel.ts'
import { claimVerb } from '../../src/redis/verbs/claim.ts'
import { expireVerb } from '../../src/redis/verbs/expire.ts'
import { recoverVerb } from '../../src/redis/verbs/recover.ts'
import { Sweeps } from '../../src/redis/verbs/sweeps.ts'
import { at, request } from '../support/backend-driver.ts'
import { deepen } from '../support/deep-line.ts'
import { connect } from '../support/redis-driver.ts'
import { redisAddress } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

/** Runs every script, and loses some of the answers. */
class LossyStore extends Store {
  losses = 0
  readonly sweeps: Parameters<Store['run']>[] = []

  override async run<Reply>(...call: Parameters<typeof Store.prototype.run<Reply>>): Promise<Reply> {
    const answer = await super.run(...call)
    if (call[0].verb !== 'expire' && call[0].verb !== 'recover') return answer
    this.sweeps.push(call)
    if (this.losses-- <= 0) return answer
    throw new BackendUnavailableError('Redis is unavailable: no answer in time')
  }
}

/** As the backend writes it. */
const KEEP = '1000 0 10000'

async function openLossy(limits: string) {
  const connection = connect(redisAddress())
  const stage = await RedisStage.open(limits, { connection })
  const store = new LossyStore(connection, stage.backend.store.tags, 'test')
  const sweeps = new Sweeps(store, KEEP)
  const claim = claimVerb(store, { nameOf: () => undefined }, { noteVersion: () => undefined }, sweeps, KEEP)
  return { stage, store, verbs: { claim, expire: expireVerb(sweeps), recover: recoverVerb(sweeps) } }
}

const claim = { scheduler: 's1', lookAhead: 0, most: 200, lease: 1e6 }
const LENGTH = 3_000

test('reports every job that expires deep in a line once, also when an answer was lost', async () => {
  const { stage, store, verbs } = await openLossy('100000, 1/h')
  await stage.backend.verbs.admit({ ...request('first'), deadline: Number.POSITIVE_INFINITY }, at(0))
  const line = { key: 'a', like: 'first', count: LENGTH, now: at(0) }
  await deepen(stage.redis, stage.tag, { ...line, prefix: 'stays' })
  await deepen(stage.redis, stage.tag, { ...line, prefix: 'late', deadline: 1e6 })
  const expired: string[] = []
  for (let sweep = 0; ; sweep++) {
    if (sweep % 3 === 0) store.losses = 2
    const { nextExpiry, now } = await verbs.claim(0, claim, at(5))
    if (nextExpiry > now) break
    const jobs = await verbs.expire(0, at(5)).catch(() => [])
    expired.push(...jobs.map(({ id }) => id))
  }
  expect(expired.sort()).toEqual(Array.from({ length: LENGTH }, (_, n) => `late${n}`).sort())
  expect(await stage.views.audit()).toMatchObject({ ended: LENGTH })
  await stage.balances()
})

test('a scheduler that is not elected any more learns of the jobs that expired before', async () => {
  const { stage, store, verbs } = await openLossy('9, 1/s')
  await stage.lineUp('wx', 0, { deadline: at(1) })
  await verbs.claim(0, claim, at(0))
  store.losses = 1
  await expect(verbs.expire(0, at(5))).rejects.toMatchObject({ code: 'backend-unavailable' })
  // A scheduler with work to do stays elected.
  await stage.backend.verbs.freeze('b', 0.5e6, at(59.9))
  await stage.lineUp('y', 59.9, { key: 'b' })
  await stage.claim(60, { scheduler: 'other' })
  expect(await verbs.claim(0, claim, at(60))).toMatchObject({ isElected: false, nextExpiry: at(60) })
  expect((await verbs.expire(0, at(60))).map(({ id }) => id).sort()).toEqual(['w', 'x'])
  expect(await verbs.claim(0, claim, at(60))).toMatchObject({ nextExpiry: Number.POSITIVE_INFINITY })
  expect(await verbs.expire(0, at(60))).toEqual([])
})

test('every job that comes back is reported once, also when an answer was lost', async () => {
  const { stage, store, verbs } = await openLossy('9, 1/s')
  for (const id of 'wxyz') await stage.lineUp(id, 0, { key: id })
  await stage.hand(0)
  await stage.recover(30 - 0.1)
  store.losses = 1
  await expect(verbs.recover(0, {}, at(31))).rejects.toMatchObject({ code: 'backend-unavailable' })
  const { nextRecovery, now } = await verbs.claim(0, claim, at(32))
  expect(nextRecovery).toBe(now)
  expect((await verbs.recover(0, {}, at(32))).jobs.map(({ id }) => id).sort()).toEqual([...'wxyz'])
  expect(await verbs.recover(0, {}, at(32))).toEqual({ jobs: [], isMore: false })
  await stage.balances()
})

test('a request for a sweep that was late on its way, and was given up, sweeps nothing', async () => {
  const { stage, store, verbs } = await openLossy('9, 1/s')
  await stage.lineUp('x', 0, { deadline: at(5) })
  expect(await verbs.expire(0, at(1))).toEqual([])
  const [verb, shard, values] = store.sweeps[0]!
  await store.run(verb, shard, [at(6), ...values.slice(1)])
  expect((await verbs.expire(0, at(7))).map(({ id }) => id)).toEqual(['x'])
})

test('a job that expires at the gate is reported again to the worker that got no answer, and to no other', async () => {
  const stage = await RedisStage.open('9, 1/s')
  await stage.lineUp('x', 0, { deadline: at(1) })
  const [x] = await stage.hand(0)
  const expired = { kind: 'expired', job: { id: 'x', key: 'a', cost: 1, attempt: 0, at: at(2) } }
  expect(await stage.gate(x!, 2)).toEqual(expired)
  expect(await stage.gate(x!, 3, { worker: 'w2' })).toEqual({ kind: 'stale' })
  expect(await stage.gate(x!, 4)).toEqual(expired)
  // By then it was delivered again by mistake.
  expect(await stage.gate(x!, 13)).toEqual({ kind: 'stale' })
  await stage.balances()
})

/** Sends each request once more, a second later, and answers only then. */
class RepeatingStore extends Store {
  override async run<Reply>(...call: Parameters<typeof Store.prototype.run<Reply>>): Promise<Reply> {
    const [script, shard, [now, ...values]] = call
    await super.run(...call)
    return super.run(script, shard, [Number(now) + 1e6, ...values])
  }
}

test('a job that is cancelled is reported as of then, although that answer was lost', async () => {
  const connection = connect(redisAddress())
  const stage = await RedisStage.open('9, 1/s', { connection })
  await stage.lineUp('xy', 0)
  const cancel = cancelVerb(new RepeatingStore(connection, stage.backend.store.tags, 'test'), KEEP)
  expect(await cancel('y', at(2))).toMatchObject({ id: 'y', at: at(2) })
})

test.each([
  ['of one part', '99, 10/s', [75, 15, 0]],
  ['of several parts', '99, 10/s, 9/minute, 9 at once', [38, 38, 14, 0]],
])('a call expires as many jobs as it has the time for, under limits %s', async (_, limit, expected) => {
  const stage = await RedisStage.open(limit)
  const asked = Array.from({ length: 90 }, (_, index) => request(`j${index}`))
  await stage.backend.verbs.admitMany(asked, at(0))
  const { redis, tag } = stage
  await redis.zadd(`${tag}:deadlines`, ...asked.flatMap(({ id }, index) => [at(1) + index, id]))
  const counts = []
  for (let call = 0; call < expected.length; call++)
    counts.push((await stage.backend.verbs.expire(0, at(2))).length)
  expect(counts).toEqual(expected)
  await stage.balances()
})
