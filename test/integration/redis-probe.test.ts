import { Cluster } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { BackendUnavailableError, UnfitRedisError } from '../../src/core/errors.ts'
import { Shaper } from '../../src/index.ts'
import { Connection } from '../../src/redis/connection/connection.ts'
import { parseConnection } from '../../src/redis/connection/connection-input.ts'
import { type Probe, probe, readProbe } from '../../src/redis/connection/probe.ts'
import { eventually } from '../support/patience.ts'
import { startCluster, startRedis } from '../support/redis-server.ts'

const open: Connection[] = []

/** It takes two seconds to agree with itself, during which other tests run. */
const clusterStarting = startCluster()

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()))
})

function connect(input: unknown): Connection {
  const connection = new Connection(parseConnection(input), () => undefined)
  open.push(connection)
  return connection
}

async function probed(input: unknown): Promise<Probe> {
  const connection = connect(input)
  await connection.ready()
  return probe(connection.commands)
}

test.each([
  [{}, 'none', 0],
  [{ appendonly: 'yes', maxmemory: '64mb' }, 'everysec', 64 * 2 ** 20],
  [{ appendonly: 'yes', appendfsync: 'always' }, 'always', 0],
  [{ appendonly: 'yes', appendfsync: 'no' }, 'none', 0],
] as const)('a server with %o keeps: %s', async (settings, durability, maxmemory) => {
  await using redis = await startRedis(settings)
  expect(await probed(redis.url)).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    role: 'master',
    durability,
    isDurabilityAssumed: false,
    maxmemory,
    policy: 'noeviction',
    runId: expect.stringMatching(/^[0-9a-f]{40}$/),
    isCluster: false,
  })
})

test('where CONFIG is forbidden or unknown, the default is assumed, and a warning says so', async () => {
  const ways: Record<string, string>[] = [
    { user: 'default on nopass ~* +@all -config' },
    { 'rename-command': 'CONFIG gone' },
  ]
  for (const config of ways) {
    await using redis = await startRedis({ appendonly: 'yes', config })
    expect(await probed(redis.url)).toMatchObject({ durability: 'everysec', isDurabilityAssumed: true })
  }
})

test('a server that evicts keys is refused, and its setting is named', async () => {
  await using redis = await startRedis({ maxmemory: '64mb', policy: 'allkeys-lru' })
  const refused = probed(redis.url)
  await expect(refused).rejects.toThrow(UnfitRedisError)
  await expect(refused).rejects.toThrow('expected maxmemory-policy noeviction, got: "allkeys-lru"')
})

test('a replica is refused', async () => {
  await using master = await startRedis({ port: 'free' })
  await using replica = await startRedis({ config: { replicaof: `127.0.0.1 ${master.port}` } })
  const refused = probed(replica.url)
  await expect(refused).rejects.toThrow(UnfitRedisError)
  await expect(refused).rejects.toThrow('expected the master, got: a replica')
})

test('a restart gives another run id', async () => {
  await using redis = await startRedis()
  const before = await probed(redis.url)
  await redis.restart()
  expect((await probed(redis.url)).runId).not.toBe(before.runId)
})

test('a server that is away is reported within two seconds, and found when it comes back', async () => {
  await using redis = await startRedis({ port: 'free' })
  await redis.kill()
  const connection = connect(redis.url)
  await expect(connection.ready()).rejects.toThrow(BackendUnavailableError)
  await expect(probe(connection.commands)).rejects.toThrow(BackendUnavailableError)
  await redis.restart()
  await connection.ready(5_000)
  expect(await probe(connection.commands)).toMatchObject({ durability: 'none' })
})

test('of a cluster, every master is judged', async () => {
  await using cluster = await clusterStarting
  const user = new Cluster([...cluster.nodes])
  const sound = await probed(user)
  expect(sound).toMatchObject({ isCluster: true, durability: 'none', maxmemory: 0 })
  expect(sound.runId.split(',')).toHaveLength(3)
  const [first, second] = user.nodes('master')
  await first!.config('SET', 'maxmemory', '1gb')
  expect(await probed(user)).toMatchObject({ maxmemory: 2 ** 30 })
  await second!.config('SET', 'maxmemory-policy', 'allkeys-random')
  await expect(probed(user)).rejects.toThrow('got: "allkeys-random"')
  await user.quit()
})

const INFO = ['# Server', 'redis_version:7.0.15', 'run_id:r', 'role:master', 'maxmemory_policy:noeviction']

test('INFO is judged line by line', () => {
  const read = (...lines: string[]) => readProbe([...INFO, ...lines].join('\r\n'), undefined)
  expect(read('aof_enabled:0', 'maxmemory:7')).toMatchObject({ maxmemory: 7, isDurabilityAssumed: false })
  expect(read('redis_version:10.1.0')).toMatchObject({ version: '10.1.0' })
  expect(() => read('redis_version:6.2.14')).toThrow('expected Redis 7.0 or newer, got: "6.2.14"')
  expect(() => read('redis_version:')).toThrow('whose INFO shows its redis_version, got: ""')
  expect(() => readProbe('', undefined)).toThrow(UnfitRedisError)
})

test('a database that cannot be selected is not taken for another', async () => {
  await using redis = await startRedis({ port: 'free' })
  await expect(probed(`${redis.url}/99`)).rejects.toThrow(
    'expected a Redis whose database 99 can be selected, got: 0',
  )
  expect(await probed(`${redis.url}/3`)).toMatchObject({ role: 'master' })
})

test('another Redis behind the same address is probed as well: an unfit one admits no jobs', async () => {
  const first = await startRedis({ port: 'free', appendonly: 'yes', appendfsync: 'always' })
  const shaper = new Shaper('probe', { limits: { '*': '100, 1/s' }, connection: first.url })
  const connected: string[] = []
  const settled = (isSo: () => boolean) => eventually(() => expect(isSo()).toBe(true))
  const refusals: string[] = []
  shaper
    .on('connected', ({ durability }) => connected.push(durability))
    .on('error', ({ message }) => refusals.push(message))
  await shaper.enqueue('a', 1)
  await first.kill()
  const port = first.port!
  const unfit = await startRedis({ port, policy: 'allkeys-lru', maxmemory: '50mb' })
  await settled(() => refusals.some((message) => message.includes('allkeys-lru')))
  await expect(shaper.enqueue('a', 2)).rejects.toThrow('allkeys-lru')
  await unfit.kill()
  const fit = await startRedis({ port })
  await eventually(() => shaper.enqueue('a', 3))
  expect(connected).toEqual(['always', 'none'])
  await shaper.close()
  await fit.stop()
})
