import { describe, expect, test } from 'vitest'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'
import { TurnStage } from './turn-stage.ts'

const TOKENS = '9, 10/s, 1000 tokens/minute 100 each, tolerance 0'
const TWICE_AS_MANY = '9, 10/s, 1000 tokens/minute 200 each, tolerance 0'
const PACE = '9, 10/s, tolerance 0'

const recordOf = async ({ redis, tag }: RedisStage, id: string) =>
  (await redis.hgetBuffer(shardKey(tag, 'states'), id))!
const usedOf = async (stage: RedisStage, seconds: number) =>
  (await stage.inspect('a', seconds))!.quotas!.map(({ used }) => used)
const setLimit = (stage: RedisStage, limit: string, seconds: number) =>
  stage.backend.rules.change({ kind: 'set', rule: parseRule('*', limit) }, at(seconds))

async function started(limit: string) {
  const stage = await RedisStage.open(limit)
  await stage.lineUp('a', 0)
  const [a] = await stage.hand(0)
  const granted = await stage.gate(a!, 0)
  if (granted.kind !== 'granted') throw new Error('not granted')
  const { fence } = granted.job
  const settle = (tokens: number, seconds: number, startedAt?: number) => {
    const start = startedAt === undefined ? {} : { startedAt: at(startedAt) }
    return stage.backend.verbs.settle(
      { id: 'a', key: 'a', fence, amounts: { tokens }, ...start },
      at(seconds),
    )
  }
  return { stage, a: a!, settle }
}

describe('what a start was charged', () => {
  test('is in the record of its attempt alone, and only where the limit names units', async () => {
    const sizes = new Map<string, number>()
    for (const limit of [PACE, `${PACE}, 5/minute, 3 at once`, TOKENS]) {
      const { stage, a } = await started(limit)
      const granted = (await recordOf(stage, 'a')).length
      await stage.start(a, 0)
      sizes.set(limit, (await recordOf(stage, 'a')).length - granted)
      await stage.finish(a, COMPLETED, 0.1)
      expect((await recordOf(stage, 'a')).length).toBe(granted)
    }
    expect([...sizes.values()]).toEqual([0, 0, 'tokens 100 1'.length])
  })

  test('is not known of one that an older version counted, which settles upwards only', async () => {
    const { stage, a, settle } = await started(TOKENS)
    await stage.start(a, 0)
    const record = await recordOf(stage, 'a')
    const charged = Buffer.from('tokens 100 1')
    const from = record.indexOf(charged)
    // Without a result, as such a version writes it: a flag and a length of 0.
    const older = Buffer.concat([
      record.subarray(0, from - 5),
      Buffer.alloc(5),
      record.subarray(from + charged.length),
    ])
    await stage.redis.hset(shardKey(stage.tag, 'states'), 'a', older)
    await setLimit(stage, TWICE_AS_MANY, 0.1)
    expect(await settle(30, 0.2)).toBe(true)
    expect(await usedOf(stage, 0.2)).toEqual([100])
  })

  test('is not known of one that an older version counted, which settles both ways where nothing changed', async () => {
    const { stage, a, settle } = await started(TOKENS)
    await stage.start(a, 0)
    const record = await recordOf(stage, 'a')
    const from = record.indexOf('tokens 100 1')
    await stage.redis.hset(
      shardKey(stage.tag, 'states'),
      'a',
      Buffer.concat([record.subarray(0, from - 5), Buffer.alloc(5), record.subarray(from + 12)]),
    )
    expect(await settle(30, 0.2)).toBe(true)
    expect(await usedOf(stage, 0.2)).toEqual([30])
  })

  test('is by the limit of when it is reported', async () => {
    const { stage, a, settle } = await started(TOKENS)
    await setLimit(stage, TWICE_AS_MANY, 0.1)
    expect(await usedOf(stage, 0.1)).toEqual([200])
    expect(await settle(30, 0.2, 0.05)).toBe(true)
    expect(await usedOf(stage, 0.2)).toEqual([30])
    expect(await stage.start(a, 0.3)).toBe(true)
    expect(await recount(stage.redis, stage.tag)).toEqual([])
  })

  test('is that of the latest start of a job that its worker lost', async () => {
    const { stage, a, settle } = await started(TOKENS)
    await stage.start(a, 0)
    expect(await stage.recover(40)).toMatchObject([{ id: 'a' }])
    await setLimit(stage, TWICE_AS_MANY, 40.1)
    const [again] = await stage.hand(41)
    const granted = await stage.gate(again!, 41)
    if (granted.kind !== 'granted') throw new Error('not granted')
    await stage.start(again!, 41)
    expect(await settle(0, 41.1)).toBe(false)
    const asked = { id: 'a', key: 'a', fence: granted.job.fence, amounts: { tokens: 10 } }
    expect(await stage.backend.verbs.settle(asked, at(41.2))).toBe(true)
    expect(await usedOf(stage, 41.2)).toEqual([110])
  })
})

describe('a turn that has ended', () => {
  async function ended(limit: string) {
    const stage = await TurnStage.open(limit)
    await stage.admit('~c~1', 0, { key: 'a' })
    const { of } = await stage.claim(0)
    const granted = await stage.gate(of('~c~1'), 0)
    if (granted.kind !== 'granted') throw new Error('not granted')
    const report = { ...of('~c~1'), startedAt: at(0), outcome: COMPLETED }
    const finish = async (seconds: number) => (await stage.backend.verbs.finish(0, [report], at(seconds)))[0]!
    const settle = (tokens: number, charged: string, seconds: number) =>
      stage.backend.verbs.settle(
        {
          id: '~c~1',
          key: 'a',
          fence: granted.job.fence,
          startedAt: at(0),
          ended: { cost: 1, charged },
          amounts: { tokens },
        },
        at(seconds),
      )
    return { jobs: stage.jobs, finish, settle }
  }

  test('says what it was charged, also when the report of its end comes again', async () => {
    const { finish } = await ended(TOKENS)
    expect(await finish(0)).toEqual({ isMine: true, at: at(0), charged: 'tokens 100 1' })
    expect(await finish(5)).toEqual({ isMine: true, at: at(0), charged: 'tokens 100 1' })
  })

  test.each([PACE, `${PACE}, 2 at once`])('says nothing of that under %s', async (limit) => {
    const { finish } = await ended(limit)
    expect(await finish(0)).toEqual({ isMine: true, at: at(0) })
  })

  test('settles what it was charged, when its record is gone and its limit has changed', async () => {
    const { jobs, finish, settle } = await ended(TOKENS)
    const { charged = '' } = await finish(0)
    await setLimit(jobs, TWICE_AS_MANY, 1)
    await jobs.claim(20)
    expect(await jobs.redis.hexists(shardKey(jobs.tag, 'states'), '~c~1')).toBe(0)
    expect(await usedOf(jobs, 20)).toEqual([100])
    expect(await settle(30, charged, 20)).toBe(true)
    expect(await usedOf(jobs, 20)).toEqual([30])
  })

  test('takes nothing back after a loss, which what it was charged may be part of', async () => {
    const { jobs, finish, settle } = await ended(TOKENS)
    const { charged = '' } = await finish(0)
    await jobs.backend.verbs.quarantine(0, at(1), 'loss')
    expect(await settle(30, charged, 2)).toBe(true)
    // Beside what was charged, all that the loss may have taken counts.
    expect(await usedOf(jobs, 2)).toEqual([100 + 1_000])
  })

  test.each(['tokens', 'tokens x 1', 'tokens 5 y', `tokens ${'9'.repeat(400)} 1`])(
    'charged %s is refused',
    async (charged) => {
      const { finish, settle } = await ended(TOKENS)
      await finish(0)
      await expect(settle(30, charged, 1)).rejects.toThrow(/VR_ARGUMENT/)
    },
  )
})
