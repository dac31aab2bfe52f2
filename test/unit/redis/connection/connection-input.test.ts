import { Cluster, Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { InvalidOptionsError } from '../../../../src/core/errors.ts'
import { connectionSchema, parseConnection } from '../../../../src/redis/connection/connection-input.ts'

test.each([
  ['redis://', {}],
  ['redis://h', { host: 'h' }],
  ['redis://h:6380/3', { host: 'h', port: 6380, db: 3 }],
  ['REDIS://h', { host: 'h' }],
  ['redis://[::1]:1/?family=6&db=2', { host: '::1', port: 1, family: 6, db: 2 }],
  ['redis://u:p%2F%23@h', { host: 'h', username: 'u', password: 'p/#' }],
  ['redis://:pw@h', { host: 'h', password: 'pw' }],
  ['rediss://h', { host: 'h', tls: {} }],
  ['unix:///tmp/r.sock', { path: '/tmp/r.sock' }],
  ['unix:///tmp/a%20b.sock?db=1', { path: '/tmp/a b.sock', db: 1 }],
  ['/tmp/r.sock', { path: '/tmp/r.sock' }],
])('%s is read', (url, options) => {
  expect(parseConnection(url)).toEqual({ kind: 'options', options })
})

test.each([
  ['', 'got: ""'],
  ['localhost', 'text without a scheme'],
  ['user:secret@localhost', 'text without a scheme'],
  ['//u:secret@h', 'text without a scheme'],
  ['http://u:secret@h', 'got: a URL that begins with "http"'],
  ['redis://u:secret@h:port', 'cannot be read'],
  ['redis://:sec/ret@h', 'cannot be read'],
  ['redis://u:1/secret@h', 'the database of the URL to be a whole number'],
  ['redis://u:1?secret@h', 'behind the ? of the URL'],
  ['redis://u:1#secret@h', 'a URL without #'],
  ['redis://u:secret%@h', 'write it as %25'],
  ['redis://h/-1', 'whole number'],
  ['redis://h?db=x', 'whole number'],
  ['redis://h?keyPrefix=x', 'behind the ? of the URL'],
  ['redis://h?family=5', 'behind the ? of the URL'],
  ['unix://h/x', 'unix:///path/of/socket'],
  ['unix://', 'unix:///path/of/socket'],
])('%j is refused, and no password shown', (url, message) => {
  expect(() => parseConnection(url)).toThrow(InvalidOptionsError)
  expect(() => parseConnection(url)).toThrow(/^connection: expected/)
  expect(() => parseConnection(url)).toThrow(message)
  expect(() => parseConnection(url)).not.toThrow(/secret|ret@/)
})

test.each([
  [6379, 'got: 6379'],
  [null, 'got: null'],
  [true, 'got: true'],
  [undefined, 'got: undefined'],
  [['redis://h'], 'got: an array of 1'],
  [() => 1, 'got: a function'],
  [new URL('redis://h'), 'got: an object'],
  [new Map(), 'got: an object'],
  [{ port: 'x' }, 'connection: port: '],
  [{ port: 70_000 }, 'connection: port: '],
  [{ host: '' }, 'connection: host: '],
  [{ path: 5 }, 'connection: path: '],
  [{ db: -1 }, 'connection: db: '],
  [{ password: Number('123456') }, 'connection: password: '],
  [{ keyPrefix: 'a:' }, 'expected no keyPrefix'],
])('case %#, which is no connection, is refused', (input, message) => {
  expect(() => parseConnection(input)).toThrow(InvalidOptionsError)
  expect(() => parseConnection(input)).toThrow(message)
  expect(() => parseConnection(input)).not.toThrow('123456')
})

test('options of ioredis are taken as they are', () => {
  const options = { host: 'h', sentinels: [{ host: 's', port: 26_379 }], name: 'm', password: null }
  expect(parseConnection(options)).toEqual({ kind: 'options', options })
  expect(parseConnection({})).toEqual({ kind: 'options', options: {} })
})

test('clients of ioredis are known by their form', () => {
  const redis = new Redis({ lazyConnect: true })
  expect(parseConnection(redis)).toEqual({ kind: 'redis', client: redis })
  const cluster = new Cluster([{ host: 'h' }], { lazyConnect: true })
  expect(parseConnection(cluster)).toEqual({ kind: 'cluster', client: cluster })
  const prefixed = [
    new Redis({ lazyConnect: true, keyPrefix: 'a:' }),
    new Cluster([], { lazyConnect: true, keyPrefix: 'a:' }),
    new Cluster([], { lazyConnect: true, redisOptions: { keyPrefix: 'a:' } }),
  ]
  for (const client of prefixed) expect(() => parseConnection(client)).toThrow('expected no keyPrefix')
})

test('the schema refuses with the same error, not with one that shows what came', () => {
  expect(connectionSchema.parse('redis://h')).toEqual({ kind: 'options', options: { host: 'h' } })
  expect(connectionSchema.optional().parse(undefined)).toBeUndefined()
  expect(() => connectionSchema.safeParse('http://u:secret@h')).toThrow(InvalidOptionsError)
})
