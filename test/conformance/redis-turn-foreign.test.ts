import { describe, expect, test } from 'vitest'
import { MILLISECOND } from '../../src/core/duration.ts'
import { isVelvetRopeError } from '../../src/core/errors.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const RUNS = { id: '~c~runs', epoch: 1 }
const GRANTED = { id: '~c~granted', epoch: 1 }
const HANDED = { id: '~c~handed', epoch: 1 }

/** Every verb that writes, where turns run, are granted a slot, are handed over, and wait: all in one bucket. */
const VERBS = {
  admit: (stage: RedisStage) => stage.admit('~c~new', 1),
  'admit a job': (stage: RedisStage) => stage.admit('new', 1),
  cancel: (stage: RedisStage) => stage.backend.verbs.cancel('~c~waits', at(1)),
  leave: (stage: RedisStage) => stage.backend.verbs.leave(GRANTED.id, at(1)),
  expire: (stage: RedisStage) => stage.backend.verbs.expire(0, at(200)),
  claim: (stage: RedisStage) => stage.claim(1),
  'claim of more': (stage: RedisStage) => stage.claim(1, { lookAhead: 900 * MILLISECOND }),
  gate: (stage: RedisStage) => stage.gate(HANDED, 0.15),
  start: (stage: RedisStage) => stage.start(GRANTED, 0.1),
  finish: (stage: RedisStage) => stage.finish(GRANTED, COMPLETED, 0.1, 0.1),
  'finish of one that runs': (stage: RedisStage) => stage.finish(RUNS, COMPLETED, 1),
  renew: (stage: RedisStage) => stage.renew({ id: '~c~waits', epoch: 0 }, 9, 2),
  recover: (stage: RedisStage) => stage.recover(99),
  freeze: (stage: RedisStage) => stage.backend.verbs.freeze('a', 1_000, at(1)),
  pause: (stage: RedisStage) => stage.backend.verbs.pause('a', at(1)),
} as const

type Verb = keyof typeof VERBS
const isVerb = (name: string): name is Verb => name in VERBS
const VERB_NAMES = Object.keys(VERBS).filter(isVerb)

async function busyStage(): Promise<RedisStage> {
  const stage = await RedisStage.open('9, 10/s')
  await stage.admit(RUNS.id, 0)
  await stage.claim(0)
  await stage.gate(RUNS, 0)
  await stage.start(RUNS, 0)
  await stage.admit(GRANTED.id, 0, { deadline: at(90) })
  await stage.admit(HANDED.id, 0)
  await stage.claim(0, { lookAhead: 200 * MILLISECOND })
  await stage.gate(GRANTED, 0)
  await stage.admit('~c~waits', 0, { deadline: at(90) })
  await stage.admit('job', 0)
  await stage.balances()
  return stage
}

/** The verb is refused with `foreign-value` and has written nothing; or it could do without, and was done. */
async function isDoneOrRefused(stage: RedisStage, verb: Verb): Promise<void> {
  const before = await stage.dump()
  try {
    await VERBS[verb](stage)
  } catch (error) {
    if (!isVelvetRopeError(error, 'foreign-value')) throw error
    expect(await stage.dump()).toEqual(before)
  }
}

const OTHERS = ['line:1', 'handed:1', 'retry:1', 'back:1', 'inbox:c'] as const
const NAMES = [
  'meta',
  'buckets',
  'jobs',
  'states',
  'due',
  'turns',
  'idle',
  'deadlines',
  'leases',
  'gone',
] as const

describe.each([...NAMES, ...OTHERS])('a value of another type under :%s', (name) => {
  test.each(VERB_NAMES)('%s: done, or refused with nothing written', async (verb) => {
    const stage = await busyStage()
    const key = `${stage.tag}:${name}`
    await stage.redis.del(key)
    await stage.redis.set(key, 'foreign value')
    await isDoneOrRefused(stage, verb)
    expect([await stage.redis.get(key), await stage.redis.ttl(key)]).toEqual(['foreign value', -1])
  })
})

describe.each(['~', '~~', '~c', '~c~stranger', '~{}~x', '~c~x 2'])('a stranger named %o', (stranger) => {
  test.each(['line', 'handed'])('in the %s', async (list) => {
    for (const verb of VERB_NAMES) {
      const stage = await busyStage()
      await stage.redis.lpush(`${stage.tag}:${list}:1`, stranger)
      await isDoneOrRefused(stage, verb)
    }
  })
})

describe('an inbox with a foreign value', () => {
  async function spoiled(): Promise<RedisStage> {
    const stage = await RedisStage.open('9, 1/s')
    await stage.redis.set(`${stage.tag}:inbox:c`, 'foreign value')
    await stage.admit('~c~1', 0)
    await stage.admit('~c~2', 0, { key: 'b' })
    await stage.admit('~p~1', 0, { key: 'c' })
    return stage
  }

  test('keeps no turn of others, and no job, from being handed over', async () => {
    const stage = await spoiled()
    await stage.admit('x', 0, { key: 'd' })
    expect((await stage.claim(0)).jobs).toMatchObject([{ id: 'x' }])
    expect(await stage.backend.inboxes.next(0, 'p', MILLISECOND)).toMatchObject([{ id: '~p~1' }])
    await stage.balances()
  })

  test('is an error in the process that reads it', async () => {
    const stage = await spoiled()
    await stage.claim(0)
    const looked = stage.backend.inboxes.next(0, 'c', MILLISECOND)
    await expect(looked).rejects.toMatchObject({ code: 'foreign-value' })
  })

  test('gives up the places of its callers after a while; callers that come again once it is gone depart', async () => {
    const stage = await spoiled()
    await stage.claim(0)
    expect((await stage.recover(30)).map(({ id, gone }) => [id, gone])).toEqual([
      ['~c~1', false],
      ['~c~2', false],
      ['~p~1', false],
    ])
    await stage.claim(30)
    await stage.redis.del(`${stage.tag}:inbox:c`)
    expect((await stage.recover(60)).map(({ gone }) => gone)).toEqual([true, true, true])
    await stage.admit('~c~3', 61)
    await stage.claim(61)
    expect(await stage.backend.inboxes.next(0, 'c', MILLISECOND)).toMatchObject([{ id: '~c~3' }])
    await stage.balances()
  })
})

test('a bucket whose line was spoiled under a turn does not lose the start of the one before', async () => {
  const stage = await busyStage()
  await stage.redis.del(`${stage.tag}:line:1`)
  await stage.redis.set(`${stage.tag}:line:1`, 'text')
  const before = await stage.dump()
  expect(await stage.start(GRANTED, 0.1)).toBe(false)
  expect(await stage.dump()).toEqual(before)
  expect(await stage.redis.exists(shardKey(stage.tag, 'states'))).toBe(1)
})
