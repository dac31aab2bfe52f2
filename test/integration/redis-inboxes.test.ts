import { beforeEach, expect, test } from 'vitest'
import { inboxKey, shardTag } from '../../src/redis/scripts/keys.ts'
import { Inboxes } from '../../src/redis/transport/inboxes.ts'
import { connect, lookAt } from '../support/redis-driver.ts'
import { redisAddress, startRedis, uniquePrefix } from '../support/redis-server.ts'

const SECOND = 1_000_000
/** Longer than any test takes: an answer never comes from the end of the wait. */
const LONG = 55 * SECOND

let tags: string[]
beforeEach(() => {
  const prefix = uniquePrefix()
  tags = [0, 1].map((shard) => shardTag(prefix, 'test', shard))
})

const push = (shard: number, caller: string, ...texts: string[]) =>
  lookAt().rpush(inboxKey(tags[shard]!, caller), ...texts)

test.each(['k', 'two words', ' before', 'after ', ' ', '🪢 knot', 'a\nb\r\n', '1 2 3', '~c~1 7 k', ''])(
  'the key of a turn may be %o',
  async (key) => {
    const inboxes = new Inboxes(connect(redisAddress()), tags)
    await push(0, 'c', `~c~x 12 ${key}`)
    expect(await inboxes.next(0, 'c', LONG)).toEqual([{ id: '~c~x', epoch: 12, key }])
    inboxes.stop()
  },
)

test('many come together, a hundred at the most, in their order', async () => {
  const inboxes = new Inboxes(connect(redisAddress()), tags)
  await push(0, 'c', ...Array.from({ length: 250 }, (_, n) => `~c~${n} 1 k`))
  const ids: string[] = []
  for (const size of [100, 100, 50]) {
    const turns = await inboxes.next(0, 'c', LONG)
    expect(turns).toHaveLength(size)
    ids.push(...turns.map(({ id }) => id))
  }
  expect(ids).toEqual(Array.from({ length: 250 }, (_, n) => `~c~${n}`))
  inboxes.stop()
})

test('waits until something comes, for one caller and in each shard apart', async () => {
  const inboxes = new Inboxes(connect(redisAddress()), tags)
  const waiting = [inboxes.next(0, 'c', LONG), inboxes.next(1, 'c', LONG)]
  await push(0, 'other', '~other~1 1 k')
  await push(1, 'c', '~c~2 1 k')
  await push(0, 'c', '~c~1 1 k')
  expect((await Promise.all(waiting)).flat().map(({ id }) => id)).toEqual(['~c~1', '~c~2'])
  inboxes.stop()
})

test('answers nothing when nothing has come in time', async () => {
  const inboxes = new Inboxes(connect(redisAddress()), tags)
  expect(await inboxes.next(0, 'c', 1_000)).toEqual([])
  inboxes.stop()
})

test('stopped while it waits it fails immediately; and stopping twice does no harm', async () => {
  const inboxes = new Inboxes(connect(redisAddress()), tags)
  await push(0, 'c', '~c~1 1 k')
  await inboxes.next(0, 'c', LONG)
  const waiting = inboxes.next(0, 'c', LONG)
  const failed = expect(waiting).rejects.toMatchObject({ code: 'backend-unavailable' })
  inboxes.stop()
  inboxes.stop()
  await failed
})

test('with Redis gone it fails, and goes on when Redis is back', async () => {
  await using redis = await startRedis({ port: 'free' })
  const connection = connect(redis.url)
  const inboxes = new Inboxes(connection, tags)
  await connection.ready()
  const waiting = inboxes.next(0, 'c', LONG)
  const failed = expect(waiting).rejects.toMatchObject({ code: 'backend-unavailable' })
  await connection.commands.ping()
  await redis.kill()
  await failed
  await redis.restart()
  await connection.ready(10_000)
  await connection.commands.rpush(inboxKey(tags[0]!, 'c'), '~c~1 1 k')
  let turns = await inboxes.next(0, 'c', LONG).catch(() => [])
  while (turns.length === 0) turns = await inboxes.next(0, 'c', LONG).catch(() => [])
  expect(turns).toEqual([{ id: '~c~1', epoch: 1, key: 'k' }])
  inboxes.stop()
})

test('stopped while Redis is away, a wait that was not sent fails immediately', async () => {
  await using redis = await startRedis({ port: 'free' })
  const connection = connect(redis.url)
  const inboxes = new Inboxes(connection, tags)
  await connection.ready()
  const failed = expect(inboxes.next(0, 'c', LONG)).rejects.toMatchObject({ code: 'backend-unavailable' })
  await connection.commands.ping()
  await redis.kill()
  await failed
  const unsent = expect(inboxes.next(0, 'c', LONG)).rejects.toMatchObject({ code: 'backend-unavailable' })
  inboxes.stop()
  await unsent
})

test('a foreign value is reported', async () => {
  const inboxes = new Inboxes(connect(redisAddress()), tags)
  await lookAt().set(inboxKey(tags[0]!, 'c'), 'text')
  await expect(inboxes.next(0, 'c', LONG)).rejects.toMatchObject({ code: 'foreign-value' })
  inboxes.stop()
})
