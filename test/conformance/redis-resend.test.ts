import { expect, it } from 'vitest'
import { HOUR } from '../../src/core/duration.ts'
import { VirtualClock } from '../../src/core/virtual-clock.ts'
import { Pass, type PassPorts } from '../../src/redis/scheduler/pass.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at } from '../support/backend-driver.ts'
import { restart } from './losses.ts'
import { RedisStage } from './redis-stage.ts'

/** One pass of a scheduler that hands over no job; `seconds` stays the time of the store. */
async function pass(stage: RedisStage, seconds: number) {
  const { verbs } = stage.backend
  const now = at(seconds)
  const events: string[] = []
  const taken: HandedJob[] = []
  const sizes: number[] = []
  const backend: PassPorts['backend'] = {
    claim: (shard, request) => verbs.claim(shard, { ...request, lookAhead: -HOUR }, now),
    recover: async (shard, request) => {
      const recovery = await verbs.recover(shard, request, now)
      sizes.push(recovery.jobs.length)
      return recovery
    },
    expire: (shard) => verbs.expire(shard, now),
  }
  const one = new Pass({
    name: 's1',
    shaper: 'stage',
    shard: 0,
    backend,
    transport: { hand: async () => undefined, take: async (_shard, jobs) => void taken.push(...jobs) },
    clock: new VirtualClock(now),
    onExpired: () => undefined,
    onRecovered: ({ id }) => void events.push(id),
  })
  const tally = { handed: 0, recovered: 0, expired: 0, isElected: false }
  await one.run(tally, () => false)
  return { tally, events, taken, sizes }
}

it('one pass after a restart looks at all leases, however many of them are of jobs that stay', async () => {
  const stage = await RedisStage.open('1000, 1/hour')
  await stage.admit('job', 0)
  const [job] = await stage.hand(0)
  // Each turn that waits has a lease.
  for (let n = 0; n < 600; n++) await stage.admit(`~caller~${n}`, 0, { key: 'other' })
  await restart(stage)
  const { tally, events, taken, sizes } = await pass(stage, 1)
  expect(await stage.redis.hget(shardKey(stage.tag, 'meta'), 'resend')).toBe('')
  expect(sizes.length).toBeGreaterThan(4)
  expect(sizes.filter((size) => size === 0).length).toBeGreaterThan(2)
  expect(events).toEqual(['job'])
  expect(taken).toMatchObject([{ id: 'job', epoch: job!.epoch }])
  expect(tally).toMatchObject({ recovered: 1, isElected: true })
  await stage.balances()
})

it('each job that comes back with another is reported, and its delivery is removed, in calls that are bounded', async () => {
  const stage = await RedisStage.open('99, 1000/s, 9999/day')
  const keys = Array.from({ length: 20 }, (_, n) => `k${n}`)
  for (const key of keys) for (let n = 0; n < 16; n++) await stage.admit(`${key}-${n}`, 0, { key })
  const handed: HandedJob[] = []
  while (handed.length < 320) {
    const some = await stage.hand(0, 1000)
    expect(some).not.toEqual([])
    handed.push(...some)
  }
  await restart(stage)
  const { events, taken, sizes } = await pass(stage, 1)
  const ids = handed.map(({ id }) => id)
  expect([...events].sort()).toEqual(ids.sort())
  expect(new Set(taken.map(({ id, epoch }) => `${id} ${epoch}`))).toEqual(
    new Set(handed.map(({ id, epoch }) => `${id} ${epoch}`)),
  )
  expect(Math.max(...sizes)).toBeLessThanOrEqual(115)
  await stage.balances()
})

it('each job that comes back with one whose lease has ended is reported, in their order', async () => {
  const stage = await RedisStage.open('9, 100/s, 9999/day')
  await stage.lineUp('wxy', 0)
  const [w, x, y] = await stage.hand(0, 30)
  await stage.renew(y!, 60, 29)
  await stage.renew(x!, 60, 29)
  const lost = await stage.recover(31)
  expect(
    lost.map(({ id, epoch, key, cost, attempt, crashed }) => [id, epoch, key, cost, attempt, crashed]),
  ).toEqual([w, x, y].map((job) => [job!.id, job!.epoch, 'a', 1, 0, false]))
  await stage.balances()
})

it.each([
  ['its start', 0],
  ['its end', 1],
] as const)(
  'after a failover that lost the grant of a job the shard refuses %s, before it is handed over again',
  async (_, which) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('w', 0)
    const [w] = await stage.hand(0)
    const replica = await stage.dump()
    expect(await stage.gate(w!, 0)).toMatchObject({ kind: 'granted' })
    if (which === 1) expect(await stage.start(w!, 0)).toBe(true)
    await stage.restore(replica)
    await restart(stage)
    await stage.claim(1, { lookAhead: -HOUR })
    if (which === 0) expect(await stage.start(w!, 1)).toBe(false)
    else {
      expect(await stage.renew(w!, 30, 1)).toBe(true)
      expect(await stage.finish(w!, { kind: 'completed', result: undefined }, 1)).toMatchObject({
        isMine: false,
      })
    }
    const lost = await stage.recover(1)
    expect(lost).toMatchObject([{ id: 'w', crashed: false }])
    const [again] = await stage.hand(2)
    expect(again!.epoch).toBeGreaterThan(w!.epoch)
    await stage.balances()
  },
)
