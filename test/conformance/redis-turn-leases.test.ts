import { describe, expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, msAt, request } from '../support/backend-driver.ts'
import { keysOf, openRedisBackend, viewsOf } from '../support/redis-driver.ts'
import { restart } from './losses.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'
import { PLACE, TurnStage } from './turn-stage.ts'

/** The lease that a claim gives, in seconds. */
const HANDED = 30
/** So long a turn that has ended is known. */
const KNOWN = 10

const place = (id: string) => ({ id, epoch: 0 })

describe('renew with epoch 0', () => {
  test('keeps the place of a turn that waits', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.backend.verbs.pause('a', at(0))
    expect(await stage.jobs.renew(place('~c~1'), PLACE, 4)).toBe(true)
    expect(await stage.recover(4 + PLACE - 0.1)).toEqual([])
    expect(await stage.recover(4 + PLACE)).toMatchObject([{ id: '~c~1', gone: true }])
    expect(await stage.jobs.renew(place('~c~1'), PLACE, 9)).toBe(false)
    await stage.adds()
  })

  test('answers that a turn that was handed over, or granted, is there, and leaves the lease alone', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    const { of } = await stage.claim(0)
    expect(await stage.jobs.renew(place('~c~1'), 99, 1)).toBe(true)
    expect(await stage.jobs.renew(of('~c~1'), 20, 15)).toBe(true)
    await stage.gate(of('~c~1'), 16)
    expect(await stage.jobs.renew(place('~c~1'), 99, 17)).toBe(true)
    expect(await stage.recover(16 + HANDED)).toMatchObject([{ id: '~c~1', failed: true }])
  })

  test('of a turn that departed, of a job, and of an unknown id is refused', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 x', 0)
    await stage.run(0)
    const before = await stage.jobs.dump()
    for (const id of ['~c~1', 'x', '~c~unknown', '~']) {
      expect(await stage.jobs.renew(place(id), PLACE, 1)).toBe(false)
    }
    expect(await stage.jobs.dump()).toEqual(before)
  })

  test('one record that cannot be read costs the others of the call nothing', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 ~c~2', 0)
    await stage.jobs.redis.hset(shardKey(stage.jobs.tag, 'states'), '~c~1', 'garbage')
    const places = ['~c~1', '~c~2'].map(place)
    expect(await stage.backend.verbs.renew(0, places, PLACE * SECOND, at(4))).toEqual([false, true])
  })
})

describe('the turn of a caller whose process is silent', () => {
  test('loses its place in the line, and the turns behind it move up', async () => {
    const stage = await TurnStage.open('2, 1/s')
    await stage.admit('x', 0)
    await stage.run(0)
    await stage.admit('~c~1 ~p~2', 0.1)
    await stage.jobs.renew(place('~p~2'), 60, 1)
    expect(await stage.recover(0.1 + PLACE)).toEqual([
      {
        id: '~c~1',
        epoch: 0,
        key: 'a',
        cost: 1,
        attempt: 0,
        at: at(0.1 + PLACE),
        crashed: false,
        failed: false,
        gone: true,
        lapsed: false,
      },
    ])
    expect(await stage.jobs.state('~c~1', 6)).toBe('cancelled')
    expect(await stage.jobs.inspect('a', 6)).toMatchObject({ waiting: 1 })
    expect((await stage.views.job('~p~2', at(6)))!.position).toBe(1)
    await stage.admit('y', 6)
  })

  test('is delivered once more, and then it is gone; the turns behind it depart', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 x', 0)
    const first = (await stage.claim(0)).of('~c~1')
    expect(await stage.recover(HANDED)).toMatchObject([
      { ...first, gone: false, crashed: false, failed: false },
    ])
    expect(await stage.views.job('~c~1', at(HANDED))).toMatchObject({ state: 'waiting', position: 1 })
    const second = (await stage.claim(HANDED)).of('~c~1')
    expect(second.epoch).toBeGreaterThan(first.epoch)
    expect(await stage.recover(2 * HANDED)).toMatchObject([{ ...second, gone: true }])
    expect((await stage.claim(2 * HANDED)).jobs).toEqual(['x'])
  })

  test('that was delivered again and not taken is lost where it waits', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.claim(0)
    await stage.recover(HANDED)
    expect(await stage.recover(HANDED + PLACE - 0.001)).toEqual([])
    expect(await stage.recover(HANDED + PLACE)).toMatchObject([{ id: '~c~1', gone: true }])
  })

  test('that was delivered again and is taken departs', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.claim(0)
    await stage.recover(HANDED)
    await stage.run(HANDED)
    expect(await stage.jobs.state('~c~1', HANDED)).toBe('completed')
  })

  test('behind which one of another process waits: that comes back too, and still has its second chance', async () => {
    const stage = await TurnStage.open('99, 10/s', ['c', 'p'])
    await stage.admit('~c~1 ~p~2 x', 0)
    const { of } = await stage.claim(0, { lookAheadMs: 250 })
    for (const id of ['~p~2', 'x']) await stage.jobs.renew(of(id), 60, 1)
    expect((await stage.recover(HANDED)).map(({ id }) => id)).toEqual(['~c~1', '~p~2', 'x'])
    expect(await stage.jobs.inspect('a', HANDED)).toMatchObject({ waiting: 3, jobs: 3 })
    await stage.jobs.renew(place('~c~1'), 60, HANDED)
    const handedAgain = (await stage.claim(HANDED, { lookAheadMs: 250 })).of('~p~2')
    expect(handedAgain.epoch).toBeGreaterThan(of('~p~2').epoch)
    const again = await stage.recover(2 * HANDED)
    expect(again.map(({ id, gone }) => [id, gone]).sort()).toEqual([
      ['x', false],
      ['~c~1', true],
      ['~p~2', false],
    ])
    expect(await stage.jobs.inspect('a', 2 * HANDED)).toMatchObject({ waiting: 2, jobs: 2 })
  })

  test('that comes back with another of the same call is not given up with it', async () => {
    const stage = await TurnStage.open('99, 10/s', ['c', 'p'])
    await stage.admit('~c~1 ~p~2', 0)
    await stage.claim(0, { lookAheadMs: 250 })
    expect((await stage.recover(1)).map(({ id, gone }) => [id, gone])).toEqual([
      ['~c~1', false],
      ['~p~2', false],
    ])
    await stage.run(1)
    expect(await stage.jobs.state('~c~1', 1)).toBe('completed')
  })

  test('that was handed over has a second to be taken, however long the lease of a job is', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.claim(0)
    expect(await stage.recover(0.999)).toEqual([])
    expect(await stage.recover(1)).toMatchObject([{ id: '~c~1', gone: false }])
  })

  test('whose process has not renewed for long has no second chance', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.claim(2.6)
    expect(await stage.recover(3.6)).toMatchObject([{ id: '~c~1', gone: true }])
  })

  test('that was granted a slot has failed, and the slot counts', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 x', 0)
    const { of } = await stage.claim(0)
    await stage.jobs.gate(of('~c~1'), 29.5, { lease: 0.5 * SECOND })
    expect(await stage.recover(30)).toMatchObject([
      { ...of('~c~1'), gone: false, crashed: true, failed: true },
    ])
    expect(await stage.jobs.state('~c~1', 30)).toBe('failed')
    expect((await stage.claim(30.9)).jobs).toEqual([])
    expect((await stage.claim(31)).jobs).toEqual(['x'])
  })

  test('that departed, and whose end was not reported, loses the place that it may hold', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    const { of } = await stage.claim(0)
    await stage.gate(of('~c~1'), 0)
    await stage.jobs.start(of('~c~1'), 0)
    expect(await stage.recover(HANDED)).toMatchObject([{ id: '~c~1', lapsed: true }])
    expect(await stage.recover(9 * HANDED)).toEqual([])
    expect(await stage.jobs.finish(of('~c~1'), COMPLETED, HANDED)).toMatchObject({ isMine: false })
  })

  test('that was granted a place keeps it for its lease, though no start is reported; without places it has a second', async () => {
    const answers = ['9, 1/s, 1 at once', '9, 1/s'].map(async (limit) => {
      const stage = await TurnStage.open(limit)
      await stage.admit('~c~1', 0)
      const handed = (await stage.claim(0)).of('~c~1')
      expect(await stage.gate(handed, 0)).toMatchObject({ kind: 'granted' })
      return [await stage.recover(1), await stage.recover(HANDED - 0.001), await stage.recover(HANDED)]
    })
    const failed = [{ id: '~c~1', failed: true }]
    expect(await Promise.all(answers)).toMatchObject([
      [[], [], failed],
      [failed, [], []],
    ])
  })

  test('that settles before its start is reported has the lease of one that departed', async () => {
    const stage = await TurnStage.open('9, 1/s, 9 tokens/minute 5 each, 1 at once')
    await stage.admit('~c~1', 0)
    const handed = (await stage.claim(0)).of('~c~1')
    const granted = await stage.gate(handed, 0)
    if (granted.kind !== 'granted') throw new Error(`expected a slot, got: ${granted.kind}`)
    const { fence } = granted.job
    const asked = { id: '~c~1', key: 'a', fence, startedAt: at(0.1), amounts: { tokens: 2 } }
    expect(await stage.backend.verbs.settle(asked, at(0.5))).toBe(true)
    expect(await stage.jobs.start(handed, 0.1)).toBe(true)
    expect(await stage.recover(0.5 + PLACE - 0.001)).toEqual([])
    expect(await stage.recover(0.5 + PLACE)).toMatchObject([{ id: '~c~1', lapsed: true }])
  })

  test('keeps its place through a restart of Redis and a silence of all processes', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.backend.verbs.pause('a', at(0))
    await stage.claim(0)
    await stage.admit('~c~1', 0)
    stage.jobs.isSilent = true
    await restart(stage.jobs)
    await stage.claim(7)
    expect(await stage.recover(8.9)).toEqual([])
    expect(await stage.jobs.renew(place('~c~1'), PLACE, 8.9)).toBe(true)
    await stage.claim(25)
    expect(await stage.recover(26.9)).toEqual([])
    stage.jobs.isSilent = false
    expect(await stage.recover(31)).toMatchObject([{ id: '~c~1', gone: true }])
  })
})

describe('a caller that leaves', () => {
  test('while it waits gives its place to the turns behind it', async () => {
    const stage = await TurnStage.open('3, 1/s')
    await stage.admit('x ~c~1', 0)
    await stage.jobs.admit('~c~2', 0)
    expect(await stage.leave('~c~1', 0.5)).toEqual({
      id: '~c~1',
      key: 'a',
      cost: 1,
      attempt: 0,
      at: at(0.5),
    })
    expect((await stage.views.job('~c~2', at(0.5)))!.position).toBe(2)
    expect(await stage.jobs.inspect('a', 0.5)).toMatchObject({ waiting: 2 })
    expect(await stage.leave('~c~1', 0.6)).toBeUndefined()
  })

  test('when its turn was handed over: what comes of it is stale', async () => {
    const stage = await TurnStage.open('99, 10/s')
    await stage.admit('~c~1 ~c~2', 0)
    const { of } = await stage.claim(0, { lookAheadMs: 150 })
    expect(await stage.leave('~c~1', 0)).toMatchObject({ id: '~c~1' })
    expect(await stage.gate(of('~c~1'), 0)).toEqual({ kind: 'stale' })
    expect(await stage.gate(of('~c~2'), 0)).toMatchObject({ kind: 'granted', slot: at(0) })
  })

  test('with a slot gives it to the turn behind it', async () => {
    const stage = await TurnStage.open('99, 10/s')
    await stage.admit('x', 0)
    await stage.run(0)
    await stage.admit('~c~1 ~c~2', 0)
    const { of } = await stage.claim(0.05, { lookAheadMs: 150 })
    expect(await stage.gate(of('~c~1'), 0.05)).toMatchObject({ kind: 'granted', slot: at(0.1) })
    expect(await stage.leave('~c~1', 0.06)).toMatchObject({ id: '~c~1', attempt: 0 })
    expect(await stage.gate(of('~c~1'), 0.06)).toEqual({ kind: 'stale' })
    expect(await stage.jobs.start(of('~c~1'), 0.1)).toBe(false)
    expect(await stage.gate(of('~c~2'), 0.06)).toMatchObject({ kind: 'granted', slot: at(0.1) })
  })

  test('with a slot, and no turn behind it: the bucket is as it was before', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.run(0)
    await stage.admit('~c~2', 0.5)
    const { of } = await stage.claim(0.9, { lookAheadMs: 200 })
    expect(await stage.gate(of('~c~2'), 0.9)).toMatchObject({ kind: 'granted', slot: at(1) })
    await stage.leave('~c~2', 0.95)
    const { admission } = await stage.jobs.admit('~c~3', 0.95)
    expect(admission).toMatchObject({ accepted: true, departsAt: msAt(1) })
    await stage.adds()
  })

  test('after it departed leaves nothing; and no other process takes a slot from a turn, or from a job', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 x', 0)
    const { of } = await stage.claim(0)
    await stage.gate(of('~c~1'), 0)
    expect(await stage.backend.verbs.cancel('~c~1', at(0))).toBeUndefined()
    await stage.jobs.start(of('~c~1'), 0)
    expect(await stage.leave('~c~1', 0)).toBeUndefined()
    await stage.finish(of('~c~1'), COMPLETED, 0)
    expect(await stage.leave('~c~1', 0)).toBeUndefined()
    const { of: second } = await stage.claim(1)
    await stage.gate(second('x'), 1)
    expect(await stage.leave('x', 1)).toBeUndefined()
    expect(await stage.leave('~c~unknown', 1)).toBeUndefined()
  })

  test('of many shards is found in its own', async () => {
    const backend = await openRedisBackend({ limits: { '*': '9, 1/s' }, shards: 4 })
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    for (const key of keys) await backend.verbs.admit(request(`~c~${key}`, { key }), at(0))
    expect(new Set(keys.map((key) => backend.store.shardOf(key))).size).toBeGreaterThan(1)
    for (const key of keys.slice(0, 4)) {
      expect(await backend.verbs.leave(`~c~${key}`, at(0))).toMatchObject({ id: `~c~${key}`, key })
    }
    const handed: string[] = []
    for (let shard = 0; shard < 4; shard++) {
      await backend.verbs.claim(shard, { scheduler: 's', lookAhead: 0, most: 9, lease: SECOND }, at(0))
      const turns = await backend.inboxes.next(shard, 'c', MILLISECOND)
      for (const { key } of turns) expect(backend.store.shardOf(key)).toBe(shard)
      handed.push(...turns.map(({ key }) => key))
    }
    expect(handed.sort()).toEqual(keys.slice(4))
    expect(await viewsOf(backend).audit()).toMatchObject({ admitted: 8, handed: 4, ended: 4 })
  })
})

describe('what is left of turns', () => {
  test('that have ended: nothing, after ten seconds', async () => {
    const stage = await TurnStage.open('9, 10/s')
    await stage.admit('~c~1 ~c~2 ~c~3', 0)
    await stage.admit('~c~4', 0, { deadline: at(0.4) })
    await stage.run(0)
    await stage.leave('~c~2', 0.05)
    const { of } = await stage.claim(0.1)
    await stage.gate(of('~c~3'), 0.1)
    await stage.recover(0.1 + HANDED)
    await stage.backend.verbs.expire(0, at(0.1 + HANDED))
    expect(await stage.views.audit()).toMatchObject({ admitted: 4, ended: 4 })
    await stage.claim(1 + HANDED + KNOWN)
    expect(await keysOf(stage.jobs.prefix)).toEqual(['test:0}:book', 'test:0}:meta'])
  })

  test('is forgotten without a scheduler, when others end', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1 ~c~2 ~c~3', 0)
    await stage.leave('~c~1', 1)
    await stage.leave('~c~2', 1 + KNOWN - 0.001)
    expect(await stage.jobs.state('~c~1', 11)).toBe('cancelled')
    await stage.leave('~c~3', 1 + KNOWN)
    expect(await stage.jobs.state('~c~1', 11)).toBeUndefined()
    expect(await stage.jobs.state('~c~2', 11)).toBe('cancelled')
    await stage.adds()
  })

  test('has a time at which the scheduler looks', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.leave('~c~1', 0)
    const { nextForgetting } = await stage.claim(1)
    expect(nextForgetting).toBeGreaterThanOrEqual(at(KNOWN))
    expect(nextForgetting).toBeLessThan(at(KNOWN + 60))
  })

  test('does not push out the jobs that are kept', async () => {
    const stage = await RedisStage.open('99, 10/s', { keepFinished: 2 })
    for (const id of ['x', 'y']) {
      await stage.admit(id, 0)
      await stage.backend.verbs.cancel(id, at(0))
    }
    for (let n = 0; n < 20; n++) {
      await stage.admit(`~c~${n}`, 1)
      await stage.backend.verbs.leave(`~c~${n}`, at(1))
    }
    await stage.claim(60)
    expect([await stage.state('x', 60), await stage.state('~c~1', 60)]).toEqual(['cancelled', undefined])
    await stage.balances()
  })

  test('an inbox that no process reads expires', async () => {
    const stage = await TurnStage.open('9, 1/s')
    await stage.admit('~c~1', 0)
    await stage.jobs.claim(0)
    const left = await stage.jobs.redis.pttl(`${stage.jobs.tag}:inbox:c`)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(60_000)
  })
})
