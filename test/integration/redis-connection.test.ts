import { Cluster, Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { BackendUnavailableError } from '../../src/core/errors.ts'
import { makeClient, type Profile } from '../../src/redis/connection/client-profiles.ts'
import { Connection } from '../../src/redis/connection/connection.ts'
import { type Origin, parseConnection } from '../../src/redis/connection/connection-input.ts'
import { redisAddress, startCluster, startRedis } from '../support/redis-server.ts'

const open: { close(): Promise<void> }[] = []

/** It takes two seconds to agree with itself, during which other tests run. */
const clusterStarting = startCluster()

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()))
})

function connect(input: unknown, onError: (error: Error) => void = () => undefined): Connection {
  const connection = new Connection(parseConnection(input), onError)
  open.push(connection)
  return connection
}

function signal(): { readonly promise: Promise<void>; fire(): void } {
  let fire = () => {}
  const promise = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { promise, fire: () => fire() }
}

test('the clients answer, each by its profile', async () => {
  const connection = connect(redisAddress())
  await connection.ready()
  await connection.ready()
  expect(connection.commands).toBe(connection.commands)
  expect(await connection.commands.ping()).toBe('PONG')
  const transport = connection.transport()
  expect(transport).not.toBe(connection.transport())
  expect(await transport.ping()).toBe('PONG')
  // Not ready yet: it waits for its connection.
  expect(await connection.blocking().blpop('empty-list', 0.01)).toBeNull()
})

test.each<[Profile, object]>([
  [
    'commands',
    {
      autoResendUnfulfilledCommands: false,
      commandTimeout: undefined,
      connectTimeout: 2_000,
      enableAutoPipelining: false,
      enableOfflineQueue: false,
      keepAlive: 5_000,
      maxRetriesPerRequest: 0,
      stringNumbers: false,
    },
  ],
  ['transport', { commandTimeout: undefined, enableOfflineQueue: true, maxRetriesPerRequest: null }],
  ['blocking', { commandTimeout: undefined, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }],
])('the profile %s wins over what the user has set', (profile, expected) => {
  const loose = {
    commandTimeout: 7,
    enableAutoPipelining: true,
    enableOfflineQueue: profile !== 'blocking',
    maxRetriesPerRequest: 5,
    stringNumbers: true,
    username: 'u',
  }
  // Nothing listens there.
  const nowhere = { path: '/nonexistent/r.sock', ...loose }
  const user = new Redis({ ...nowhere, lazyConnect: true })
  const origins: Origin[] = [
    { kind: 'options', options: nowhere },
    { kind: 'redis', client: user },
  ]
  for (const origin of origins) {
    const client = makeClient(origin, profile)
    client.on('error', () => undefined)
    expect(client.options).toMatchObject({ ...expected, username: 'u' })
    client.disconnect()
  }
  expect(user.options).toMatchObject(loose)
  expect(user.status).toBe('wait')
})

test('the profiles of a cluster stand where a cluster looks for them', () => {
  const user = new Cluster([{ host: '127.0.0.1', port: 1 }], {
    lazyConnect: true,
    redisOptions: { username: 'u', commandTimeout: 7 },
  })
  const commands = makeClient({ kind: 'cluster', client: user }, 'commands')
  const transport = makeClient({ kind: 'cluster', client: user }, 'transport')
  expect(commands.options).toMatchObject({
    enableOfflineQueue: false,
    retryDelayOnFailover: 0,
    redisOptions: { username: 'u', commandTimeout: undefined, maxRetriesPerRequest: 0 },
  })
  expect(commands.options).not.toHaveProperty('redisOptions.enableOfflineQueue')
  expect(transport.options).toMatchObject({
    enableOfflineQueue: true,
    redisOptions: { commandTimeout: undefined, maxRetriesPerRequest: null },
  })
  commands.on('error', () => undefined).disconnect()
  transport.on('error', () => undefined).disconnect()
  expect(user.options.redisOptions).toEqual({ username: 'u', commandTimeout: 7 })
})

test('a client of the user is neither changed nor closed', async () => {
  const user = new Redis(redisAddress(), { commandTimeout: 900 })
  const connection = connect(user)
  await connection.ready()
  connection.transport()
  await connection.close()
  expect(await user.ping()).toBe('PONG')
  expect(user.options.commandTimeout).toBe(900)
  expect(user.listenerCount('error')).toBe(0)
  await user.quit()
})

test('a closed connection gives no clients, and closing twice does no harm', async () => {
  const connection = connect(redisAddress())
  const { commands } = connection
  const early = connection.ready()
  const transport = connection.transport()
  await Promise.all([connection.close(), connection.close()])
  await early.catch((error) => expect(error).toBeInstanceOf(BackendUnavailableError))
  await connection.close()
  await expect(connection.ready()).rejects.toThrow('the connection was closed')
  expect(() => connection.transport()).toThrow(BackendUnavailableError)
  await expect(commands.ping()).rejects.toThrow()
  await expect(transport.ping()).rejects.toThrow()
})

test('a server that is stopped delays neither commands nor closing', async () => {
  await using redis = await startRedis({ port: 'free' })
  const connection = connect(redis.url)
  await connection.ready()
  redis.pause()
  const reconnected = signal()
  const lost = connection.commands.ping().catch((error: Error) => error)
  connection.commands.once('close', reconnected.fire)
  connection.reconnect()
  await reconnected.promise
  expect(await lost).toBeInstanceOf(Error)
  redis.resume()
  await connection.ready()
  expect(await connection.commands.ping()).toBe('PONG')
  redis.pause()
  await connection.close()
})

test('an outage is reported once, and once more when it comes again', async () => {
  await using redis = await startRedis()
  const errors: Error[] = []
  let wake = signal()
  const connection = connect(redis.url, (error) => {
    errors.push(error)
    wake.fire()
  })
  await connection.ready()
  const transport = connection.transport()
  await transport.ping()
  for (const times of [1, 2]) {
    const failures = { left: 4, all: signal() }
    const count = () => void (--failures.left === 0 && failures.all.fire())
    for (const client of [connection.commands, transport]) client.on('error', count)
    await redis.kill()
    await Promise.all([wake.promise, failures.all.promise])
    expect(errors).toHaveLength(times)
    expect(errors.at(-1)).toBeInstanceOf(BackendUnavailableError)
    wake = signal()
    await redis.restart()
    await connection.ready(5_000)
    await transport.ping()
  }
})

test('a wrong password is reported without the password', async () => {
  await using redis = await startRedis({ port: 'free', password: 'right-one' })
  const errors: Error[] = []
  const wrong = connect(redis.url.replace('right-one', 'wrong-one'), (error) => errors.push(error))
  const error = await wrong.ready(200).catch((thrown: Error) => thrown)
  expect(error).toBeInstanceOf(BackendUnavailableError)
  expect(error).toMatchObject({ message: expect.stringMatching(/the user name or the password is wrong/) })
  for (const each of [error, ...errors]) {
    const shown = JSON.stringify([each, String(each), (each as Error).stack, (each as Error).cause])
    expect(shown).not.toContain('wrong-one')
  }
  await connect(redis.url).ready()
})

test('a cluster is connected to, and its clients answer', async () => {
  await using cluster = await clusterStarting
  const user = new Cluster([...cluster.nodes])
  const connection = connect(user)
  await connection.ready()
  for (const key of ['a', 'b', 'c', 'd']) expect(await connection.commands.set(key, 1)).toBe('OK')
  expect(await connection.transport().get('a')).toBe('1')
  await connection.close()
  expect(await user.get('d')).toBe('1')
  await user.quit()
})
