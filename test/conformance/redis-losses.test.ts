import { describe, expect, it } from 'vitest'
import { HOUR } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'
import { failOver, nextStart, notice, restart } from './losses.ts'
import { RedisStage } from './redis-stage.ts'

/** Seconds after a loss in which a slot may be used that was granted just before, and is lost: it is ahead, and its worker late. */
const LOST_SLOT = 0.5

describe('after a failover', () => {
  it('a bucket waits for a whole interval that is longer than a minute', async () => {
    const stage = await RedisStage.open('9, 1 per 180 seconds')
    await stage.lineUp('xy', 0)
    const replica = await stage.dump()
    await stage.run(0)
    await failOver(stage, replica)
    await notice(stage, 1)
    expect(await nextStart(stage, 2, 300, 0.5)).toBe(181 + LOST_SLOT)
  })

  it('a shard that goes back to the moment of its naming knows that it had another server', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const meta = shardKey(stage.tag, 'meta')
    expect(await stage.redis.hget(meta, 'run')).toMatch(/^[0-9a-f]{40}$/)
    const named = await stage.dump()
    await stage.lineUp('x', 0)
    await stage.run(0)
    await failOver(stage, named)
    await stage.lineUp('y', 0.1)
    await notice(stage, 0.1)
    expect(await nextStart(stage, 0.2, 3, 0.1)).toBeCloseTo(1.1 + LOST_SLOT)
  })

  it.each([
    ['that knows of a loss', 1, 0],
    ['of before three losses', 0, 3],
  ])('twice, to one snapshot %s, no fence of before comes again', async (_, known, forgotten) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const lose = async (seconds: number, times: number) => {
      for (let time = 0; time < times; time++) {
        await stage.backend.verbs.quarantine(0, at(seconds + time / 10), 'loss')
      }
    }
    await lose(1, known)
    const snapshot = await stage.dump()
    const fences: number[] = []
    for (const from of [2, 50]) {
      await failOver(stage, snapshot)
      await notice(stage, from)
      if (from === 2) await lose(from, forgotten)
      for (let seconds = from; seconds < from + 20; seconds++) {
        const [job] = await stage.hand(seconds)
        const answer = job && (await stage.gate(job, seconds))
        if (answer?.kind !== 'granted') continue
        fences.push(answer.job.fence)
        break
      }
    }
    expect(fences).toHaveLength(2)
    expect(fences[1]).toBeGreaterThan(fences[0]!)
  })

  it('a bucket waits for as long as the costliest job of the shard keeps the next one away', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('costly', 0, { key: 'other', cost: 5 })
    await stage.lineUp('x', 0)
    const replica = await stage.dump()
    await stage.admit('lost', 0, { key: 'b', cost: 5 })
    await failOver(stage, replica)
    await notice(stage, 1)
    // A bucket that it knows, and one of which everything may be lost.
    await stage.lineUp('y', 1, { key: 'b' })
    const starts: (readonly [string, number])[] = []
    for (let seconds = 1; seconds <= 9; seconds += 0.5) {
      for (const job of await stage.hand(seconds)) {
        if ((await stage.gate(job, seconds)).kind === 'granted') starts.push([job.id, seconds])
      }
    }
    const first = 6 + LOST_SLOT
    expect(Object.fromEntries(starts)).toEqual({ costly: first, x: first, y: first })
  })

  it('a bucket waits for a slot that was granted just before and is lost, since its worker may use it', async () => {
    const stage = await RedisStage.open('9, 2/s')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    const replica = await stage.dump()
    const [y] = await stage.hand(0.3, 250)
    const granted = await stage.gate(y!, 0.3)
    expect(granted).toMatchObject({ kind: 'granted', startAt: at(0.5), latest: at(0.75) })
    await failOver(stage, replica)
    await notice(stage, 0.31)
    const next = await nextStart(stage, 0.4, 3, 0.05)
    expect(next).toBeGreaterThanOrEqual(0.75 + 0.5)
  })

  it('never waits for more than the capacity, and not at all where the last start is longer ago', async () => {
    const stage = await RedisStage.open({ '*': '3, 1/s', wide: '9, 1/s' })
    await stage.admit('costly', 0, { key: 'wide', cost: 9 })
    await stage.run(0)
    await stage.lineUp('x', 0, { key: 'k' })
    await failOver(stage, await stage.dump())
    await notice(stage, 20)
    await stage.lineUp('z', 40, { key: 'idle' })
    expect(await nextStart(stage, 21, 40, 0.5)).toBe(23 + LOST_SLOT)
  })
})

describe('after a restart of the server', () => {
  it('what was handed over and has no slot is handed over again at once, in its order', async () => {
    const stage = await RedisStage.open('9, 100/s, 9999/day')
    await stage.lineUp('wxyz', 0)
    const before = await stage.hand(0, 30)
    expect(before.map(({ id }) => id)).toEqual(['w', 'x', 'y'])
    await stage.gate(before[0]!, 0)
    await restart(stage)
    const { nextRecovery, now } = await stage.claim(1, { lookAhead: -HOUR })
    expect(nextRecovery).toBeLessThanOrEqual(now)
    const lost = await stage.recover(1)
    expect(lost.map(({ id, epoch, crashed }) => [id, epoch, crashed])).toEqual([
      ['x', before[1]!.epoch, false],
      ['y', before[2]!.epoch, false],
    ])
    expect((await stage.claim(1, { lookAhead: -HOUR })).nextRecovery).toBeGreaterThan(at(1))
    const again = await stage.hand(1, 30)
    expect(again.map(({ id }) => id)).toEqual(['x', 'y'])
    expect(await stage.gate(before[1]!, 1)).toEqual({ kind: 'stale' })
    expect(await stage.start(before[0]!, 1)).toBe(true)
    expect(await stage.gate(again[0]!, 1.1 + LOST_SLOT)).toMatchObject({ kind: 'granted' })
    await stage.balances()
  })

  it('hundreds of them come back in several calls, and what is handed over meanwhile stays', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const keys = Array.from({ length: 300 }, (_, n) => `k${n}`)
    for (const key of keys) await stage.admit(key, 0, { key })
    let handed = 0
    while (handed < 300) handed += (await stage.hand(0)).length
    await restart(stage)
    await stage.admit('new', 1, { key: 'new' })
    const [young] = await stage.hand(1)
    const found = new Set<string>()
    let calls = 0
    while ((await stage.claim(1, { lookAhead: -HOUR })).nextRecovery <= at(1)) {
      const lost = await stage.recover(1)
      expect(lost.length).toBeLessThanOrEqual(150)
      for (const { id } of lost) found.add(id)
      calls++
    }
    expect(found).toEqual(new Set(keys))
    expect(calls).toBeGreaterThan(2)
    expect(await stage.gate(young!, 7)).toMatchObject({ kind: 'granted' })
    await stage.balances()
  })

  it('a turn that was handed over has its second chance still', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('~caller~turn', 0)
    await stage.claim(0)
    await restart(stage)
    await stage.claim(1, { lookAhead: -HOUR })
    expect(await stage.recover(1)).toMatchObject([{ id: '~caller~turn', gone: false }])
    await stage.claim(1)
    expect(await stage.recover(7)).toMatchObject([{ gone: false }])
  })
})

describe('after a jump of the clock', () => {
  it('a bucket waits for the interval of what it knows, however long', async () => {
    const stage = await RedisStage.open('9, 1/hour')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    await stage.jump(4_000)
    expect(await nextStart(stage, 4_000, 7_599, 100)).toBeUndefined()
    expect(await nextStart(stage, 7_600, 7_600)).toBe(7_600)
  })

  it('one that was forgotten waits for the costliest job', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('costly', 0, { cost: 5 })
    await stage.finish(await stage.run(0), { kind: 'completed', result: undefined }, 0.1)
    // The clock jumps, and the bucket looks idle before any process has seen it.
    await stage.claim(100)
    await stage.jump(100)
    await stage.lineUp('x', 100)
    expect(await nextStart(stage, 100, 110)).toBe(105)
  })
})

describe('after a small step of the clock forward', () => {
  it('the next start keeps its distance from the one before the step, which several processes report', async () => {
    const prefix = uniquePrefix()
    const stage = await RedisStage.open('9, 2/s', { prefix })
    const other = await RedisStage.open('9, 2/s', { prefix })
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    // It is 0.3 in truth, and the clock says 0.5: the slot of the next one looks as if it had come.
    await stage.step(0.5, 200_000)
    await other.step(0.5, 201_000)
    const [y] = await stage.hand(0.5)
    expect(await stage.gate(y!, 0.5)).toMatchObject({ kind: 'granted', startAt: at(0.701) })
    await stage.start(y!, 0.701)
    const [z] = await stage.hand(1.2, 50)
    expect(await stage.gate(z!, 1.2)).toMatchObject({ kind: 'granted', startAt: at(1.201) })
  })

  it('a bucket that was forgotten too early waits for the step', async () => {
    const stage = await RedisStage.open('9, 2/s')
    await stage.step(0.5, 200_000)
    await stage.lineUp('x', 0.5)
    const [x] = await stage.hand(0.5)
    expect(await stage.gate(x!, 0.5)).toMatchObject({ kind: 'granted', startAt: at(0.7) })
  })
})

describe('a shard that is found empty', () => {
  it('by a process that knew it full, lets every bucket wait for a job of its whole capacity', async () => {
    const stage = await RedisStage.open('5, 1/s')
    await stage.lineUp('x', 0)
    await stage.run(0)
    await stage.restore({})
    await stage.backend.follow(at(1))
    const meta = shardKey(stage.tag, 'meta')
    expect(Number(await stage.redis.hget(meta, 'lostAt'))).toBeGreaterThan(0)
    // It was found by the clock of Redis, which the others of this file are not.
    await stage.redis.hset(meta, 'lostAt', at(1))
    const { admission } = await stage.admit('y', 1)
    expect(admission).toMatchObject({ accepted: true })
    expect(await nextStart(stage, 1, 10, 0.5)).toBe(6 + LOST_SLOT)
  })

  it('by one that has only just opened it, lets every bucket wait', async () => {
    const prefix = uniquePrefix()
    const stage = await RedisStage.open('5, 1/s', { prefix })
    const late = await RedisStage.open('5, 1/s', { prefix })
    await stage.restore({})
    const { admission } = await late.admit('x', 1)
    expect(admission).toMatchObject({ accepted: true })
    const meta = shardKey(stage.tag, 'meta')
    expect(Number(await stage.redis.hget(meta, 'lostAt'))).toBeGreaterThan(0)
  })

  it('by one that opens it for the first time, lets nothing wait', async () => {
    const stage = await RedisStage.open('5, 1/s')
    await stage.lineUp('x', 0)
    expect(await nextStart(stage, 0, 1)).toBe(0)
  })

  it('and filled again by another process, is noticed by one that knew it', async () => {
    const prefix = uniquePrefix()
    const stage = await RedisStage.open('5, 1/s', { prefix })
    await stage.backend.follow(at(0))
    await stage.restore({})
    const young = await RedisStage.open('5, 1/s', { prefix })
    expect(await young.redis.hget(shardKey(stage.tag, 'meta'), 'lostAt')).toBeNull()
    await stage.backend.follow(at(1))
    expect(Number(await young.redis.hget(shardKey(stage.tag, 'meta'), 'lostCost'))).toBeGreaterThan(1e9)
    const { admission } = await stage.admit('x', 1)
    expect(admission).toMatchObject({ accepted: true })
  })
})

describe('a shard that was emptied and filled again', () => {
  it.each([
    ['scheduler', 'knew it'],
    ['worker', 'knew it'],
    ['scheduler', 'had just opened it'],
    ['worker', 'had just opened it'],
  ] as const)('starts nothing immediately that a %s that %s hands over', async (who, since) => {
    const prefix = uniquePrefix()
    if (since === 'had just opened it') await RedisStage.open('5, 1/s', { prefix })
    const old = await RedisStage.open('5, 1/s', { prefix })
    if (since === 'knew it') await old.backend.follow(at(0))
    await old.restore({})
    const young = await RedisStage.open('5, 1/s', { prefix })
    await young.lineUp('x', 1)
    const [x] = await (who === 'scheduler' ? old : young).hand(1)
    expect(await (who === 'worker' ? old : young).gate(x!, 1)).toEqual({ kind: 'returned' })
    expect(await nextStart(young, 2, 10, 0.5)).toBe(6 + LOST_SLOT)
  })
})

describe('rule books that a failover left', () => {
  const set = (limit: string) => ({ kind: 'set', rule: parseRule('*', limit) }) as const
  const limitOf = (stage: RedisStage) => stage.backend.rules.book.list().map(({ limit }) => limit.capacity)

  it('with one version and other limits, are distinguished: the store is right', async () => {
    const prefix = uniquePrefix()
    const one = await RedisStage.open('5, 1/s', { prefix })
    const other = await RedisStage.open('5, 1/s', { prefix })
    const replica = await one.dump()
    await one.backend.rules.change(set('7, 1/s'), at(0))
    await failOver(one, replica)
    await other.backend.rules.change(set('8, 1/s'), at(0))
    expect([one, other].map(({ backend }) => backend.rules.version)).toEqual([2, 2])
    expect([limitOf(one), limitOf(other)]).toEqual([[7], [8]])
    await one.backend.follow(at(1))
    expect([limitOf(one), limitOf(other)]).toEqual([[8], [8]])
  })

  it('older in the first shard than in another, become one again', async () => {
    const stage = await RedisStage.open('5, 1/s', { shards: 3 })
    const first = `{${stage.prefix}:test:0}:`
    const before = Object.entries(await stage.dump()).filter(([name]) => name.startsWith(first))
    await stage.backend.rules.change(set('7, 1/s'), at(0))
    const after = Object.entries(await stage.dump()).filter(([name]) => !name.startsWith(first))
    await stage.restore(Object.fromEntries([...before, ...after]))
    const young = await RedisStage.open({}, { prefix: stage.prefix, shards: 3 })
    await young.backend.follow(at(1))
    await stage.backend.follow(at(1))
    const books = await Promise.all(
      stage.backend.store.tags.map((tag) => stage.redis.hget(shardKey(tag, 'meta'), 'mark')),
    )
    expect(new Set(books.map((mark) => mark?.split(' ').slice(0, 2).join(' '))).size).toBe(1)
    expect(limitOf(young)).toEqual(limitOf(stage))
  })
})
