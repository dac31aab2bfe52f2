import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { BackendUnavailableError } from '../../src/core/errors.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { ruleValues } from '../../src/redis/rules/book.ts'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { at, request } from '../support/backend-driver.ts'
import { beforeTimer, eventually } from '../support/patience.ts'
import { connect, openRedisBackend } from '../support/redis-driver.ts'
import { startRedis, uniquePrefix } from '../support/redis-server.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

describe('memory', () => {
  async function nearlyFull(share: number) {
    const server = await startRedis({ maxmemory: '32mb' })
    onTestFinished(() => server.stop())
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    const prefix = uniquePrefix()
    const limits = { '*': '99, 10/s' }
    const first = await openRedisBackend({ limits, prefix, connection: connect(server.url) })
    for (const id of 'xyz') await first.verbs.admit(request(id), at(0))
    const used = async () => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]) / 2 ** 25
    for (let n = 0; (await used()) < share; n++) {
      const isRefused = await client.set(`ballast:${n}`, 'b'.repeat(50_000)).catch(() => 'full')
      if (isRefused === 'full') break
    }
    // Another process, which has not looked at the memory yet.
    return RedisStage.open(limits, { prefix, connection: connect(server.url), client })
  }

  test.each([
    ['85 %', 0.86],
    ['all', 1],
  ])('with %s of it used no job is admitted, and waiting jobs depart', async (_, share) => {
    const stage = await nearlyFull(share)
    await expect(stage.admit('q', 0)).rejects.toThrow(BackendUnavailableError)
    await expect(stage.backend.verbs.admitMany([request('q')], at(0))).rejects.toThrow(/memory/)
    expect(await stage.views.job('q', at(0))).toBeUndefined()
    const x = await stage.run(0)
    expect(await stage.finish(x, COMPLETED, 0)).toMatchObject({ isMine: true })
    const y = await stage.run(0.1)
    expect(await stage.finish(y, { kind: 'retry', error: 'no', delay: 0 }, 0.1)).toMatchObject({
      isMine: true,
    })
    expect(await stage.renew(await stage.run(0.2), 9, 0.2)).toBe(true)
    expect(await stage.recover(20)).toHaveLength(1)
    expect(await stage.backend.verbs.cancel('z', at(20))).toMatchObject({ id: 'z' })
    expect(await stage.backend.verbs.freeze('a', 1_000, at(20))).toMatchObject({ at: at(20) })
    await expect(stage.backend.verbs.freeze('unknown', 1_000, at(20))).rejects.toThrow(
      'no new bucket is held',
    )
    await expect(stage.backend.verbs.pause('unknown', at(20))).rejects.toThrow(BackendUnavailableError)
    expect(await stage.views.inspect('unknown', at(20))).toBeUndefined()
    const rule = (pattern: string) => ({ kind: 'set', rule: parseRule(pattern, '9, 1/s') }) as const
    await expect(stage.backend.rules.change(rule('new'), at(20))).rejects.toThrow('no rule is added')
    expect((await stage.backend.rules.change(rule('*'), at(20))).isChanged).toBe(true)
    expect(await stage.backend.verbs.forecast('a', 1, at(20))).toMatchObject({ accepted: true })
    await stage.balances()
  })

  test('with less than that every job is admitted', async () => {
    const stage = await nearlyFull(0.7)
    expect((await stage.admit('q', 0)).admission).toMatchObject({ accepted: true })
  })
})

/** Without times of the test's own: Redis has the clock. */
describe('a request that comes late or twice', () => {
  async function own() {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    const stage = await RedisStage.open('9, 1/h', { connection: connect(server.url), client })
    const scripts = async () =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
    return { server, stage, scripts }
  }

  test('that was given up is refused when it arrives after all', async () => {
    const { server, stage, scripts } = await own()
    await stage.backend.verbs.admit(request('first'))
    const before = await scripts()
    server.pause()
    const asked = performance.now()
    const given = await Promise.allSettled([
      beforeTimer(2_000, stage.backend.verbs.admit(request('late'))),
      beforeTimer(2_000, stage.backend.verbs.freeze('a', 60_000_000)),
      beforeTimer(2_000, stage.backend.verbs.cancel('first')),
    ])
    for (const answer of given) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'backend-unavailable' } })
    }
    // What was sent waits in the socket; its time is two seconds after it was asked for.
    await new Promise((resolve) => setTimeout(resolve, 2_200 - (performance.now() - asked)))
    server.resume()
    await eventually(async () => expect(await scripts()).toBeGreaterThanOrEqual(before + 3))
    expect(await stage.views.audit()).toMatchObject({ admitted: 1, waiting: 1, ended: 0 })
    expect((await stage.views.inspect('a'))!.frozenUntil).toBeUndefined()
    expect(await stage.views.job('late')).toBeUndefined()
  })

  test('that arrives in time is done, whether its answer was waited for or not; asked again, it is answered again', async () => {
    const { server, stage } = await own()
    await stage.backend.verbs.admit(request('first'))
    server.pause()
    const asked = stage.backend.verbs.admit(request('x'))
    await new Promise((resolve) => setTimeout(resolve, 300))
    server.resume()
    const { admission } = await asked
    expect(admission).toMatchObject({ accepted: true, position: 2 })
    expect((await stage.backend.verbs.admit(request('x'))).admission).toMatchObject({
      accepted: true,
      position: 2,
    })
    expect(await stage.views.audit()).toMatchObject({ admitted: 2, waiting: 2 })
  })

  test('that cancels a job and is sent once more is answered with the time of the first', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const cancel = { ...allScripts().get('cancel')!, parse: (reply: unknown) => reply }
    const ask = (seconds: number) =>
      stage.backend.store.write(cancel, 0, ['operation', '9 600000000 1000000', 'x', '0', ''], at(seconds))
    const first = await ask(1)
    expect(await ask(2)).toEqual(first)
    await stage.balances()
  })

  test.each([
    ['unfreeze', 'freeze', 'unknown'],
    ['resume', 'pause', 'unknown'],
    ['unfreeze', 'freeze', 'known'],
    ['resume', 'pause', 'known'],
  ] as const)(
    'that finds nothing to %s and is sent once more lifts no %s of since (the bucket is %s)',
    async (lift, hold, bucket) => {
      const stage = await RedisStage.open('9, 1/s')
      if (bucket === 'known') await stage.lineUp('x', 0)
      const { store, rules, verbs } = stage.backend
      const script = { ...allScripts().get('hold')!, parse: (reply: unknown) => reply }
      const values = ['operation', lift, 'a', 0, '1', rules.version, store.shards]
      const ask = (seconds: number) =>
        store.write(script, 0, [...values, ...ruleValues(rules.book.find('a'))], at(seconds))
      const first = await ask(1)
      await verbs[hold]('a', 60 * SECOND, at(2))
      const held = await stage.inspect('a', 4)
      expect(held).toMatchObject(hold === 'freeze' ? { frozenUntil: at(62) / 1_000 } : { paused: true })
      expect(await ask(3)).toEqual(first)
      expect(await stage.inspect('a', 4)).toEqual(held)
      await stage.balances()
    },
  )

  test('that was lost with its connection is sent once more, and done once', async () => {
    const { stage } = await own()
    await stage.backend.verbs.admit(request('first'))
    for (let turn = 0; turn < 20; turn++) {
      const asked = stage.backend.verbs.admit(request(`j${turn % 5}`))
      await stage.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      expect((await asked).admission).toMatchObject({ accepted: true, position: 2 + (turn % 5) })
    }
    expect(await stage.views.audit()).toMatchObject({ admitted: 6, waiting: 6 })
  })
})

describe('when the last starts are unknown', () => {
  test('after a restart every bucket waits one interval, and for slots that may be lost, counted from the first look', async () => {
    const server = await startRedis({ port: 'free', appendonly: 'yes', appendfsync: 'always' })
    onTestFinished(() => server.stop())
    const client = new Redis(server.url)
    onTestFinished(() => client.disconnect())
    const connection = connect(server.url)
    const stage = await RedisStage.open('9, 2/s', { connection, client })
    await stage.lineUp('wxyz', 0)
    await stage.run(0)
    await server.restart()
    await connection.ready()
    const [x] = await stage.hand(3)
    expect(x!.id).toBe('x')
    expect(await stage.gate(x!, 3)).toEqual({ kind: 'returned' })
    // A slot may be 250 ms ahead, and used as much later.
    const [again] = await stage.hand(3.8, 250)
    expect(await stage.gate(again!, 3.8)).toMatchObject({ kind: 'granted', slot: at(4) })
    await stage.start(again!, 4)
    expect((await stage.run(4.5)).id).toBe('y')
    await stage.balances()
  })

  test('and after a clock was seen to jump', async () => {
    const stage = await RedisStage.open('9, 2/s')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    await stage.jump(3)
    const [y] = await stage.hand(3)
    expect(await stage.gate(y!, 3)).toEqual({ kind: 'returned' })
    expect((await stage.run(3.5)).id).toBe('y')
  })

  test('a clock that was set back by an hour does not stop a bucket for an hour', async () => {
    const stage = await RedisStage.open('9, 2/s')
    await stage.lineUp('xy', 3_600)
    await stage.run(3_600)
    await stage.jump(0)
    const starts: number[] = []
    for (let tenth = 0; tenth < 30 && starts.length === 0; tenth++) {
      const [y] = await stage.hand(tenth / 10)
      if (y !== undefined && (await stage.gate(y, tenth / 10)).kind === 'granted') starts.push(tenth)
    }
    expect(starts).toHaveLength(1)
  })
})
