import { describe, expect, test } from 'vitest'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

/** Every verb that could take a line for empty, or a job for unknown; `x` runs, `y` is handed over and `z` waits. */
const VERBS: Readonly<Record<string, (stage: RedisStage) => Promise<unknown>>> = {
  admit: (stage) => stage.admit('new', 2),
  forecast: (stage) => stage.backend.verbs.forecast('a', 1, at(2)),
  cancel: (stage) => stage.backend.verbs.cancel('z', at(2)),
  expire: (stage) => stage.backend.verbs.expire(0, at(2)),
  claim: (stage) => stage.claim(2),
  gate: (stage) => stage.gate({ id: 'y', epoch: 1 }, 1),
  start: (stage) => stage.start({ id: 'y', epoch: 1 }, 1),
  finish: (stage) => stage.finish({ id: 'x', epoch: 1 }, COMPLETED, 2),
  recover: (stage) => stage.recover(99),
  freeze: (stage) => stage.backend.verbs.freeze('a', 1_000, at(2)),
  pause: (stage) => stage.backend.verbs.pause('a', at(2)),
  resume: (stage) => stage.backend.verbs.resume('a', at(2)),
  job: (stage) => stage.views.job('z', at(2)),
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

describe('a node that has every key of a shard but :states', () => {
  const aside = (stage: RedisStage) => `${stage.tag}:aside`
  const states = (stage: RedisStage) => shardKey(stage.tag, 'states')

  test.each(['gate', 'start', 'finish', 'renew', 'cancel'])(
    'refuses `%s`, and no job is lost or given up',
    async (verb) => {
      const stage = await RedisStage.open('9, 1/s')
      await stage.lineUp('x', 0)
      const x = await stage.run(0)
      await stage.lineUp('yz', 0)
      const [y] = await stage.hand(1)
      const verbs: Readonly<Record<string, () => Promise<unknown>>> = {
        gate: () => stage.gate(y!, 1),
        start: () => stage.start(x, 1),
        finish: () => stage.finish(x, COMPLETED, 1),
        renew: () => stage.renew(x, 30, 1),
        cancel: () => stage.backend.verbs.cancel('y', at(1)),
      }
      await stage.redis.rename(states(stage), aside(stage))
      const before = await stage.dump()
      await expect(verbs[verb]!()).rejects.toMatchObject({ code: 'backend-unavailable' })
      expect(await stage.dump()).toEqual(before)
      await stage.redis.rename(aside(stage), states(stage))
      expect(await stage.finish(x, COMPLETED, 2)).toMatchObject({ isMine: true })
      await stage.balances()
    },
  )

  test('gives no job up for lost, and hands no retry over as if it was new', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('w', 0)
    await stage.finish(await stage.run(0), { kind: 'retry', error: 'no', delay: 0 }, 0.5)
    await stage.lineUp('x', 0, { key: 'b' })
    const x = await stage.run(0.6)
    expect(x.id).toBe('x')
    await stage.redis.rename(states(stage), aside(stage))
    expect(await stage.recover(40)).toEqual([])
    expect(await stage.hand(40)).toEqual([])
    await stage.redis.rename(aside(stage), states(stage))
    expect((await stage.recover(200)).map(({ id }) => id)).toEqual(['x'])
    expect((await stage.hand(200)).map(({ id }) => id).sort()).toEqual(['w', 'x'])
    await stage.balances()
  })
})

describe('a bucket whose list of handed-over jobs is missing', () => {
  const list = (stage: RedisStage, n: number) => `${stage.tag}:handed:${n}`

  test.each(['start', 'finish'])(
    'does not learn that a job is another’s: `%s` is refused until all is there',
    async (verb) => {
      const stage = await RedisStage.open('9, 10/s')
      await stage.lineUp('xy', 0)
      const [x] = await stage.hand(0, 150)
      await stage.gate(x!, 0)
      const report = () => (verb === 'start' ? stage.start(x!, 0) : stage.finish(x!, COMPLETED, 0, 0))
      await stage.redis.rename(list(stage, 1), `${stage.tag}:aside`)
      const before = await stage.dump()
      await expect(report()).rejects.toMatchObject({ code: 'backend-unavailable' })
      expect(await stage.dump()).toEqual(before)
      await stage.redis.rename(`${stage.tag}:aside`, list(stage, 1))
      expect(await report()).toEqual(verb === 'start' ? true : { isMine: true, at: at(0) })
      await stage.balances()
    },
  )

  test('does not keep the reports before it from being heard', async () => {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('v', 0, { key: 'good' })
    await stage.lineUp('xy', 0, { key: 'bad' })
    const jobs = await stage.hand(0, 150)
    for (const job of jobs) await stage.gate(job, 0)
    const [v, x] = ['v', 'x'].map((id) => jobs.find((job) => job.id === id))
    await stage.redis.rename(list(stage, 2), `${stage.tag}:aside`)
    const both = [v!, x!].map((job) => ({ ...job, startedAt: at(0) }))
    expect(await stage.backend.verbs.start(0, both, at(0))).toEqual(['started'])
    const ends = both.map((report) => ({ ...report, outcome: COMPLETED }))
    expect(await stage.backend.verbs.finish(0, ends, at(0))).toEqual([{ isMine: true, at: at(0) }])
    await stage.redis.rename(`${stage.tag}:aside`, list(stage, 2))
    expect(await stage.backend.verbs.finish(0, ends, at(0))).toMatchObject([
      { isMine: true },
      { isMine: true },
    ])
    await stage.balances()
  })
})
