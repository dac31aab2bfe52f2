import { describe, expect, test } from 'vitest'
import { shardKey } from '../../src/backend/redis/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

/** Every verb that could take a line for empty, or a job for unknown; `x` runs, `y` is handed over and `z` waits. */
const VERBS: Readonly<Record<string, (stage: RedisStage) => Promise<unknown>>> = {
  admit: (stage) => stage.admit('new', 2),
  forecast: (stage) => stage.backend.forecast('a', 1, at(2)),
  cancel: (stage) => stage.backend.cancel('z', at(2)),
  expire: (stage) => stage.backend.expire(0, at(2)),
  claim: (stage) => stage.claim(2),
  gate: (stage) => stage.gate({ id: 'y', epoch: 1 }, 1),
  start: (stage) => stage.start({ id: 'y', epoch: 1 }, 1),
  finish: (stage) => stage.finish({ id: 'x', epoch: 1 }, COMPLETED, 2),
  recover: (stage) => stage.recover(99),
  freeze: (stage) => stage.backend.freeze('a', 1_000, at(2)),
  pause: (stage) => stage.backend.pause('a', at(2)),
  resume: (stage) => stage.backend.resume('a', at(2)),
  job: (stage) => stage.backend.job('z', at(2)),
  inspect: (stage) => stage.inspect('a', 2),
}

async function fullLine(): Promise<RedisStage> {
  const stage = await RedisStage.open('2, 1/s')
  await stage.lineUp('x', 0)
  await stage.run(0)
  await stage.lineUp('yz', 0)
  await stage.hand(1)
  return stage
}

const EVERY = ['meta', 'buckets', 'jobs'] as const
/** Those that look at nothing else, and so may go on. */
const MAKES_DO: Readonly<Record<string, readonly string[]>> = {
  meta: ['job', 'inspect'],
  buckets: ['job'],
  jobs: ['forecast', 'inspect', 'freeze', 'pause', 'resume'],
}

describe.each(EVERY)('a node that has every key of a shard but :%s', (name) => {
  const verbs = Object.keys(VERBS).filter((verb) => !MAKES_DO[name]!.includes(verb))

  test.each(verbs)('refuses `%s` and changes nothing', async (verb) => {
    const stage = await fullLine()
    const [key, aside] = [shardKey(stage.tag, name), `${stage.tag}:aside`]
    await stage.redis.rename(key, aside)
    const before = await stage.dump()
    await expect(VERBS[verb]!(stage)).rejects.toMatchObject({ code: 'backend-unavailable' })
    expect(await stage.dump()).toEqual(before)
    await stage.redis.rename(aside, key)
    expect((await stage.admit('new', 2)).admission).toMatchObject({ accepted: false, waiting: 2 })
    await stage.balances()
  })
})
