import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { SETTING_NAMES } from '../../../src/config/names.ts'
import { formatPath } from '../../../src/config/paths.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { load, loadNothing, refusal } from './config-folder.ts'

const REDIS = { VELVET_ROPE_REDIS: 'redis://a' }

describe('the environment', () => {
  it('has a variable for every setting', () => {
    const named = SETTING_NAMES.map(({ path }) => formatPath(path))
    const isNamed = (path: string) => named.some((name) => name === path || name.startsWith(`${path}.`))
    const leaves = (schema: unknown, path: string): string[] => {
      const inner = insideOf(schema)
      return inner instanceof z.ZodObject && !named.includes(path)
        ? Object.entries(inner.shape).flatMap(([name, field]) =>
            leaves(field, path === '' ? name : `${path}.${name}`),
          )
        : [path]
    }
    const found = leaves(configSchema, '')
    expect(found.length).toBeGreaterThan(25)
    expect(found.filter((path) => !isNamed(path))).toEqual([])
    expect(new Set(SETTING_NAMES.map(({ variable }) => variable)).size).toBe(SETTING_NAMES.length)
  })

  it('can set what a file can set', async () => {
    const sha256 = 'ab'.repeat(32)
    const env = {
      VELVET_ROPE_LISTEN: '[::1]:80',
      VELVET_ROPE_REDIS: 'redis://a',
      VELVET_ROPE_NAME: 'sms',
      VELVET_ROPE_PREFIX: 'p',
      VELVET_ROPE_SHARDS: ' 4 ',
      VELVET_ROPE_LIMITS: '{"a": "5, 1/s", "b": {"capacity": 6, "rate": "1/s"}}',
      VELVET_ROPE_LIMIT: '7, 1/s',
      VELVET_ROPE_ALLOW: 'https://a.example, https://*.b.example,',
      VELVET_ROPE_ALLOW_PRIVATE: 'db.internal',
      VELVET_ROPE_HEADERS: `{"https://a.example": {"X-Key": "\${KEY}"}}`,
      VELVET_ROPE_SIGNING_SECRET: 'whsec_hunter2',
      VELVET_ROPE_TIMEOUT_MS: '500',
      VELVET_ROPE_TOKENS: `[{"name":"a","sha256":"${sha256}","scopes":["read"]}]`,
      VELVET_ROPE_MAX_LAG_MS: '50',
      VELVET_ROPE_JOB_BACKOFF: '500',
      VELVET_ROPE_JOB_TIMEOUT_MS: '600',
      VELVET_ROPE_CONCURRENCY: '3',
      VELVET_ROPE_SCHEDULER: 'false',
      VELVET_ROPE_DRAIN_MS: '0',
      VELVET_ROPE_LOG_LEVEL: 'debug',
    }
    const config = await loadNothing({ env })
    expect(config).toMatchObject({
      listen: { host: '::1', port: 80 },
      redis: 'redis://a',
      name: 'sms',
      prefix: 'p',
      shards: 4,
      limits: { a: '5, 1/s', b: '6, 1/s', '*': '7, 1/s' },
      forward: {
        allow: ['https://a.example', 'https://*.b.example'],
        allowPrivate: ['db.internal'],
        headers: { 'https://a.example': { 'X-Key': `\${KEY}` } },
        signing: { secret: `\${VELVET_ROPE_SIGNING_SECRET}` },
        timeoutMs: 500,
      },
      tokens: [{ name: 'a', sha256, scopes: ['read'], prefixes: [] }],
      http: { overload: { maxLagMs: 50, maxInFlight: 2_000 } },
      jobDefaults: { backoff: { type: 'fixed', delayMs: 500 }, timeoutMs: 600 },
      work: { concurrency: 3, scheduler: false },
      drainMs: 0,
      log: { level: 'debug' },
    })
    expect(JSON.stringify(config)).not.toContain('hunter2')
    expect(config.origins).toMatchObject({ 'limits["*"]': 'environment', 'tokens.a.sha256': 'environment' })
  })

  it.each([
    ['SHARDS', 'two', 'expected a number in digits, got: "two"'],
    ['SHARDS', '-1', 'expected a number in digits, got: "-1"'],
    ['SHARDS', '0', 'expected shards to be at least 1, got: 0'],
    ['SCHEDULER', 'yes', 'expected true or false, got: "yes"'],
    ['LIMITS', '{"a"', 'expected JSON, got: 4 characters that are not JSON'],
    [
      'LIMITS',
      '{"a": 5}',
      "limit \"a\": expected a limit such as '100, 10/s' or { capacity: 100, rate: '10/s' }, got: 5",
    ],
    ['LIMIT', '5', 'limit "*": expected \'<capacity>, <rate>\' such as \'100, 10/s\', got: "5"'],
    ['LISTEN', '80', 'expected listen to be host:port, such as 127.0.0.1:7077 or \'[::1]:7077\', got: "80"'],
    ['TOKENS', '"hunter2"', 'expected tokens to be a list, got: a text of 7 characters'],
    ['REDIS', 'redis://:hunter2@a/b/c', expect.stringContaining('redis: expected the database')],
    ['LOG_LEVEL', 'verbose', 'expected log.level to be debug, info, warn, error or silent, got: "verbose"'],
    ['TIMEOUT_MS', '500', 'expected forward.allow to be a list, got: nothing'],
  ])('is named in its errors: VELVET_ROPE_%s=%s', async (name, value, message) => {
    const variable = `VELVET_ROPE_${name}`
    const [line, ...more] = await refusal(loadNothing({ env: { ...REDIS, [variable]: value } }))
    expect(more).toEqual([])
    expect(line!.slice(0, variable.length + 2)).toBe(`${variable}: `)
    expect(line!.slice(variable.length + 2)).toEqual(message)
    expect(line).not.toContain('hunter2')
  })

  it.each([
    ['VELVET_ROPE_LISTN', 'unknown variable: did you mean VELVET_ROPE_LISTEN?'],
    ['VELVET_ROPE_REDIS_URL', expect.stringMatching(/^unknown variable: did you mean VELVET_ROPE_REDIS\?/)],
    ['VELVET_ROPE_PORT', 'unknown variable: did you mean VELVET_ROPE_LISTEN?'],
    [
      'VELVET_ROPE_UNHEARD_OF_COLOUR',
      expect.stringMatching(/^unknown variable: known are VELVET_ROPE_LISTEN, .*, VELVET_ROPE_CONFIG$/),
    ],
  ])('knows no %s', async (variable, message) => {
    const [line, ...more] = await refusal(loadNothing({ env: { [variable]: 'hunter2' } }))
    expect(more).toEqual([])
    expect(line!.slice(0, variable.length + 2)).toBe(`${variable}: `)
    expect(line!.slice(variable.length + 2)).toEqual(message)
  })

  it('ignores empty variables, those that commands read, and those that Kubernetes sets for a Service named velvet-rope', async () => {
    const env = {
      VELVET_ROPE_SHARDS: '',
      VELVET_ROPE_NOBODYS: '',
      VELVET_ROPE_TOKEN: 'secret',
      VELVET_ROPE_URL: 'http://127.0.0.1:7077',
      VELVET_ROPE_SERVICE_HOST: '10.0.0.1',
      VELVET_ROPE_SERVICE_PORT: '80',
      VELVET_ROPE_SERVICE_PORT_HTTP: '80',
      VELVET_ROPE_PORT: 'tcp://10.0.0.1:80',
      VELVET_ROPE_PORT_80_TCP: 'tcp://10.0.0.1:80',
      VELVET_ROPE_PORT_80_TCP_PROTO: 'tcp',
      VELVET_ROPE_PORT_80_TCP_PORT: '80',
      VELVET_ROPE_PORT_80_TCP_ADDR: '10.0.0.1',
    }
    expect((await loadNothing({ env })).shards).toBe(1)
  })
})

describe('layers', () => {
  it('are defaults, file, environment, flags, in this order', async () => {
    const text = 'name: file\nwork: {concurrency: 1, leaseMs: 1000}\ndrainMs: 1\n'
    const env = { VELVET_ROPE_CONCURRENCY: '2', VELVET_ROPE_DRAIN_MS: '2' }
    const config = await load(text, { env, flags: { drainMs: 3 } })
    expect(config).toMatchObject({ name: 'file', work: { concurrency: 2, leaseMs: 1_000 }, drainMs: 3 })
    expect(config.origins).toMatchObject({
      name: 'file',
      'work.concurrency': 'environment',
      'work.leaseMs': 'file',
      'work.scheduler': 'default',
      drainMs: 'flag',
      listen: 'default',
    })
  })

  it('have every flag', async () => {
    const flags = {
      listen: '0.0.0.0:0',
      redis: 'redis://a',
      name: 'b',
      prefix: 'c',
      shards: 2,
      limits: { x: { capacity: 4, rate: '1/s' } },
      limit: '5, 1/s',
      allow: ['https://a.example'],
      concurrency: 6,
      scheduler: false,
      leaseMs: 700,
      drainMs: 8,
      logLevel: 'error',
      record: 'arrivals.csv',
    }
    const config = await loadNothing({ flags })
    expect(config).toMatchObject({
      listen: { host: '0.0.0.0', port: 0 },
      redis: 'redis://a',
      name: 'b',
      prefix: 'c',
      shards: 2,
      limits: { x: '4, 1/s', '*': '5, 1/s' },
      forward: { allow: ['https://a.example'] },
      work: { concurrency: 6, scheduler: false, leaseMs: 700 },
      drainMs: 8,
      log: { level: 'error' },
      record: 'arrivals.csv',
    })
    const given = Object.entries(config.origins).filter(([, origin]) => origin === 'flag')
    expect(given).toHaveLength(Object.keys(flags).length)
    const known = SETTING_NAMES.flatMap(({ flag }) => (flag === undefined ? [] : [flag.field]))
    expect(known.sort()).toEqual(Object.keys(flags).sort())
  })

  it('name the flag in errors', async () => {
    const flags = { listen: 'x', shards: 0, redis: 'redis://a', concurrency: 0, leaseMs: 1, logLevel: 'loud' }
    expect((await refusal(loadNothing({ flags }))).map((line) => line.split(': ')[0])).toEqual([
      '--listen',
      '--shards',
      '--concurrency',
      '--lease',
      '--log-level',
    ])
  })

  it('replace a limit as a whole, and one book of limits by another', async () => {
    const text = "limits:\n  '*': {capacity: 5, rate: 1/s, tolerance: 2ms, warmUp: 9s}\n  a: 6, 1/s\n"
    const one = await load(text, { env: { VELVET_ROPE_LIMIT: '7, 2/s' } })
    expect(one.limits).toEqual({ '*': '7, 2/s', a: '6, 1/s' })
    expect(one.origins).toMatchObject({ 'limits["*"]': 'environment', 'limits.a': 'file' })
    const all = await load(text, {
      env: { VELVET_ROPE_LIMITS: '{"b": "8, 1/s"}' },
      flags: { limit: '9, 1/s' },
    })
    expect(all.limits).toEqual({ b: '8, 1/s', '*': '9, 1/s' })
  })

  it('let the file override REDIS_URL, which many programs read', async () => {
    const env = { REDIS_URL: 'redis://everybodys' }
    expect(await loadNothing({ env })).toMatchObject({
      redis: 'redis://everybodys',
      origins: { redis: 'environment' },
    })
    expect((await load('redis: redis://file\n', { env })).redis).toBe('redis://file')
    expect((await loadNothing({ env: { ...env, ...REDIS } })).redis).toBe('redis://a')
    expect(await refusal(loadNothing({ env: { REDIS_URL: 'http://u:hunter2@a' } }))).toEqual([
      'REDIS_URL: redis: expected a Redis URL (redis://, rediss:// or unix://), got: a URL that begins with "http"',
    ])
  })

  it("attribute the file's problems to the file, whatever other layers contain", async () => {
    const env = { VELVET_ROPE_CONCURRENCY: '2' }
    expect(await refusal(load('work: 5\n', { env }))).toEqual([
      'velvet-rope.yaml:1:7: expected work to be a mapping, got: 5',
    ])
    expect(await refusal(load('name: 5\n', { env: { VELVET_ROPE_NAME: 'a' }, flags: { name: '' } }))).toEqual(
      ['--name: expected the name of the shaper to be 1 to 256 bytes, got: 0'],
    )
  })
})

/** The schema within defaults, checks and conversions. */
function insideOf(schema: unknown): unknown {
  if (schema instanceof z.ZodObject || typeof schema !== 'object' || schema === null) return schema
  const { def } = schema as { def?: { innerType?: unknown; in?: unknown } }
  const inner = def?.innerType ?? def?.in
  return inner === undefined ? schema : insideOf(inner)
}
