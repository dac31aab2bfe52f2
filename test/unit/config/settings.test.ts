import { describe, expect, it } from 'vitest'
import { load, refusal } from './config-folder.ts'

const SHA256 = 'ab'.repeat(32)

/** Faults of a text, without the name of the file. */
async function faultsOf(text: string): Promise<string[]> {
  return (await refusal(load(text))).map((line) => line.replace(/^velvet-rope\.yaml:/, ''))
}

describe('a value of the wrong kind', () => {
  it.each([
    [
      'listen: 7077',
      "1:9: expected listen to be host:port, such as 127.0.0.1:7077 or '[::1]:7077', got: 7077",
    ],
    [
      'listen: localhost',
      '1:9: expected listen to be host:port, such as 127.0.0.1:7077 or \'[::1]:7077\', got: "localhost"',
    ],
    [
      'listen: 300.0.0.1:80',
      '1:9: expected listen to be host:port, such as 127.0.0.1:7077 or \'[::1]:7077\', got: "300.0.0.1:80"',
    ],
    [
      'listen: a:99999',
      '1:9: expected listen to be host:port, such as 127.0.0.1:7077 or \'[::1]:7077\', got: "a:99999"',
    ],
    ['name: true', '1:7: expected name to be text, got: true; put it in quotes'],
    ['name: 5', '1:7: expected name to be text, got: 5; put it in quotes'],
    ['name: ""', '1:7: expected the name of the shaper to be 1 to 256 bytes, got: 0'],
    ['name:', '1:1: expected name to be text, got: nothing'],
    ['redis: 6379', '1:8: expected redis to be a Redis URL, such as redis://127.0.0.1:6379, got: a number'],
    [
      'limits: [a]',
      "1:9: expected limits to be a mapping of pattern and limit, such as '*': 100, 10/s, got: a list of 1",
    ],
    [
      'limits:',
      "1:1: expected limits to be a mapping of pattern and limit, such as '*': 100, 10/s, got: nothing",
    ],
    ['work: 5', '1:7: expected work to be a mapping, got: 5'],
    ['work: {concurrency: 1.5}', '1:21: expected work.concurrency to be a whole number, got: 1.5'],
    ['work: {concurrency: 0}', '1:21: expected work.concurrency to be at least 1, got: 0'],
    ['work: {leaseMs: 1}', '1:17: expected work.leaseMs to be at least 500 ms, got: 1'],
    ['work: {scheduler: yes}', '1:19: expected work.scheduler to be true or false, got: "yes"'],
    ['drainMs: 25s', '1:10: expected drainMs to be a number of milliseconds, got: "25s"'],
    ['drainMs: .inf', '1:10: expected drainMs to be a number of milliseconds, got: Infinity'],
    ['drainMs: 1e12', '1:10: expected drainMs to be at most 86400000 ms, got: 1000000000000'],
    ['log: {level: off}', '1:14: expected log.level to be debug, info, warn, error or silent, got: "off"'],
    [
      'log: {level: warning}',
      '1:14: expected log.level to be debug, info, warn, error or silent, got: "warning"',
    ],
    [
      'log: {level: INFO}',
      '1:14: expected log.level to be debug, info, warn, error or silent, got: "INFO"; did you mean info?',
    ],
    [
      'http: {corsOrigins: https://a.example}',
      '1:21: expected http.corsOrigins to be a list, got: "https://a.example"; put it in [ ]',
    ],
    [
      'http: {corsOrigins: [a]}',
      '1:22: expected http.corsOrigins[0] to be an origin such as \'https://ops.example.com\', got: "a"',
    ],
    ['http: {overload: {maxLagMs: 0}}', '1:29: expected http.overload.maxLagMs to be more than 0 ms, got: 0'],
    [
      'jobDefaults: {backoff: {type: expo, delayMs: 5}}',
      '1:31: expected jobDefaults.backoff.type to be fixed or exponential, got: "expo"',
    ],
    [
      'jobDefaults: {backoff: {delayMs: 5}}',
      '1:24: expected jobDefaults.backoff.type to be fixed or exponential, got: nothing',
    ],
  ])('%s', async (text, fault) => {
    expect(await faultsOf(`${text}\n`)).toEqual([fault])
  })
})

describe('an unknown setting', () => {
  it.each([
    ['limit: {}', '1:1: unknown setting "limit": did you mean limits?'],
    [
      "'*': 100, 10/s",
      "1:1: unknown setting: limits stand under limits, by pattern: limits: { '*': '100, 10/s' }",
    ],
    [
      'stripe/*: 100, 10/s, 500/minute',
      "1:1: unknown setting: limits stand under limits, by pattern: limits: { '*': '100, 10/s' }",
    ],
    ['Listen: a:1', '1:1: unknown setting "Listen": did you mean listen?'],
    [
      'port: 7077',
      '1:1: unknown setting "port": did you mean listen? It contains host and port: 127.0.0.1:7077',
    ],
    [
      'rate: 10/s',
      '1:1: unknown setting "rate": did you mean limits? They contain capacity and rate by pattern: \'*\': 100, 10/s',
    ],
    ['work: {leasems: 500}', '1:8: unknown setting "leasems" in work: did you mean leaseMs?'],
    [
      'http:\n  overload:\n    lag: 5',
      '3:5: unknown setting "lag" in http.overload: known are maxLagMs, maxInFlight, maxTokenShare, maxHeapShare, heapReserveMb, maxSegmentShare',
    ],
    ['forward:\n  alow: [https://a.example]', '2:3: unknown setting "alow" in forward: did you mean allow?'],
    [
      'http: {onError: 5}',
      expect.stringMatching(/^1:8: unknown setting "onError" in http: known are bodyLimitBytes, /),
    ],
  ])('%s', async (text, fault) => {
    expect(await faultsOf(`${text}\n`)).toEqual([fault])
  })

  it('lists the known settings if none is similar', async () => {
    const [fault] = await faultsOf('colour: blue\n')
    expect(fault).toMatch(/^1:1: unknown setting "colour": known are listen, redis, name, .*, drainMs, log$/)
  })
})

describe('a limit', () => {
  it.each([
    [
      "'*': 5",
      "2:8: limit \"*\": expected a limit such as '100, 10/s' or { capacity: 100, rate: '10/s' }, got: 5",
    ],
    [
      "'*': ",
      "2:3: limit \"*\": expected a limit such as '100, 10/s' or { capacity: 100, rate: '10/s' }, got: null",
    ],
    ['a: 5, 1', '2:6: limit "a": a rate needs a period: write 1/s or 1/minute, got: 1'],
    ['a: {capacity: 5, rate: 10}', '2:6: limit "a": a rate needs a period: write 10/s or 10/minute, got: 10'],
    [
      'a: {capacity: 5, rate: 1/s, burst: 3}',
      '2:6: limit "a": unknown field "burst" in a limit: did you mean capacity?',
    ],
    ['a: 5, 1:30', expect.stringMatching(/^2:6: limit "a": expected a rate such as 10\/s/)],
    ["'': 5, 1/s", '2:3: expected the pattern to be 1 to 256 bytes, got: 0'],
    ['a*: 5, 1/s', expect.stringMatching(/^2:3: expected \* to stand alone in its segment/)],
  ])('is rejected: %s', async (line, fault) => {
    expect(await faultsOf(`limits:\n  ${line}\n`)).toEqual([fault])
  })

  it('is reported with all other invalid ones', async () => {
    expect(await faultsOf('limits:\n  a: 5\n  b: 5, 1/s\n  c: x\n')).toEqual([
      expect.stringMatching(/^2:6: limit "a"/),
      expect.stringMatching(/^4:6: limit "c"/),
    ])
  })
})

describe('a token', () => {
  const HASH = 'printf %s "$TOKEN" | sha256sum'

  it.each([
    [
      'sha256: my-plain-token',
      `expected tokens[0].sha256 to be 64 hexadecimal digits, got: a text of 14 characters; if that is the token itself, put its digest here: ${HASH}`,
    ],
    [
      'token: my-plain-token',
      `unknown setting "token" in tokens[0]: did you mean sha256? Only the digest of a token is stored: ${HASH}`,
    ],
    ['sha256: 123456', 'expected tokens[0].sha256 to be text, got: a number; put it in quotes'],
  ])('is given by its digest alone, not by %s', async (line, message) => {
    const faults = await faultsOf(`tokens:\n  - name: shop\n    scopes: [read]\n    ${line}\n`)
    expect(faults).toEqual([expect.stringContaining(message)])
    expect(faults[0]).not.toMatch(/my-plain-token|123456/)
    expect(faults[0]).toMatch(/^4:/)
  })

  it.each([
    ['[plain]', '1:10: expected tokens[0] to be a mapping, got: a text of 5 characters'],
    [
      `[{name: a, sha256: ${SHA256}, scopes: [raed]}]`,
      '1:103: expected tokens[0].scopes[0] to be enqueue, read or admin, got: "raed"; did you mean read?',
    ],
    [
      `[{name: a, sha256: ${SHA256}, scopes: [write]}]`,
      '1:103: expected tokens[0].scopes[0] to be enqueue, read or admin, got: "write"; did you mean enqueue?',
    ],
    [
      `[{name: a, sha256: ${SHA256}, scopes: [s3same-0pen]}]`,
      '1:103: expected tokens[0].scopes[0] to be enqueue, read or admin, got: a text of 11 characters',
    ],
    [
      `[{name: a, sha256: ${SHA256}, scopes: []}]`,
      '1:102: expected tokens[0].scopes to be a list of 1 or more, got: a list of 0',
    ],
    [
      `[{name: a, sha256: ${SHA256}, scopes: [read], limit: 600}]`,
      '1:117: expected tokens[0].limit to be text, got: a number; put it in quotes',
    ],
    [
      `[{name: a, sha256: ${SHA256}, scopes: [read], limit: 100/s}]`,
      "1:117: expected tokens[0].limit to be requests at once and per time, such as '600, 100/s', got: a text of 5 characters",
    ],
    [
      `[{name: a b, sha256: ${SHA256}, scopes: [read]}]`,
      '1:17: expected tokens[0].name to be letters, digits, ., _ and -, 1 to 64 of them, got: a text of 3 characters',
    ],
    [
      `[{name: a, sha256: ${SHA256}, scopes: [read]}, {name: b, sha256: ${SHA256.toUpperCase()}, scopes: [read]}]`,
      '1:129: expected each token to have a sha256 of its own, got: that of an earlier token',
    ],
  ])('must be complete and unique: %.30s', async (tokens, fault) => {
    expect(await faultsOf(`tokens: ${tokens}\n`)).toEqual([fault])
  })

  it('may have a rate, in any notation', async () => {
    const { tokens } = await load(
      `tokens: [{name: a, sha256: ${SHA256}, scopes: [read], limit: '6_00,  100 per second'}]\n`,
    )
    expect(tokens[0]).toMatchObject({ name: 'a', limit: '600, 100/s' })
  })

  it('may change: one client has two for a while', async () => {
    const other = 'cd'.repeat(32)
    const { tokens } = await load(
      `tokens: [{name: a, sha256: ${SHA256}, scopes: [read]}, {name: a, sha256: ${other}, scopes: [read]}]\n`,
    )
    expect(tokens.map(({ name }) => name)).toEqual(['a', 'a'])
  })
})

describe('the address of Redis', () => {
  it.each([
    [
      'http://me:hunter2@cache',
      '1:8: redis: expected a Redis URL (redis://, rediss:// or unix://), got: a URL that begins with "http"',
    ],
    [
      'redis://me:hunt#er2@cache',
      expect.stringMatching(
        /^1:8: redis: expected a Redis URL, got: one that cannot be read; write \/ \? # @/,
      ),
    ],
    [
      'redis://me:hunter2@cache/x',
      expect.stringMatching(/^1:8: redis: expected the database of the URL to be a whole number/),
    ],
    [
      'cache:6379',
      '1:8: redis: expected a Redis URL (redis://, rediss:// or unix://), got: text without a scheme',
    ],
    [
      `'redis://:\${HUNTER2}@cache'`,
      expect.stringMatching(/^1:8: expected redis to be a URL without \$\{NAME\}, .* VELVET_ROPE_REDIS/),
    ],
  ])('is rejected without showing its password: %s', async (url, fault) => {
    const faults = await faultsOf(`redis: ${url}\n`)
    expect(faults).toEqual([fault])
    expect(faults.join()).not.toMatch(/hunter|er2|HUNTER/)
  })

  it('is required by the settings that depend on it', async () => {
    expect(await faultsOf('prefix: a\nshards: 2\n')).toEqual([
      '1:1: prefix needs redis: expected a Redis URL as well, got: nothing',
      '2:1: shards needs redis: expected a Redis URL as well, got: nothing',
    ])
    expect(await load('redis: redis://a\nprefix: b\nshards: 2\n')).toMatchObject({ prefix: 'b', shards: 2 })
  })
})

describe('what may be forwarded', () => {
  const ALLOW = "allow: ['https://a.example']"

  it('refers to secrets without containing them', async () => {
    const { forward } = await load(
      `forward:\n  ${ALLOW}\n  headers: {'https://a.example': {Authorization: 'Bearer \${KEY}'}}\n  signing: {secret: '\${WH}'}\n`,
    )
    expect(forward).toMatchObject({
      headers: { 'https://a.example': { Authorization: `Bearer \${KEY}` } },
      signing: { secret: `\${WH}` },
    })
  })

  it.each([
    [
      'allow: https://a.example',
      '2:10: expected forward.allow to be a list, got: "https://a.example"; put it in [ ]',
    ],
    [
      'allow: []',
      '2:10: expected forward.allow to be one origin or more, such as https://api.stripe.com, got: a list of 0',
    ],
    ['timeoutMs: 5', '2:3: expected forward.allow to be a list, got: nothing'],
    [
      "allow: [https://a.example, 'https://b.example/path']",
      expect.stringMatching(/^2:30: forward: expected allow to be an origin .* without a path/),
    ],
    [
      `${ALLOW}\n  allowPrivate: [a b]`,
      expect.stringMatching(/^3:18: forward: expected allowPrivate to contain hosts/),
    ],
    [
      `${ALLOW}\n  headers: {'https://b.example': {A: b}}`,
      '3:13: forward: expected headers to be for an origin in allow, got: "https://b.example"; did you mean https://a.example?',
    ],
    [
      `${ALLOW}\n  headers: {'https://a.example': {Authorization: Bearer hunter2}}`,
      expect.stringMatching(
        /^3:50: forward: expected .* authorization, to refer to a variable as \$\{NAME\}/,
      ),
    ],
    [
      `${ALLOW}\n  headers: {'https://a.example': {X-Key: 'a \${not-a-name}'}}`,
      expect.stringMatching(/^3:42: forward: expected .* x-key, to refer to variables as \$\{NAME\}/),
    ],
    [
      `${ALLOW}\n  headers: {'https://a.example': {X-Key: 5}}`,
      '3:42: expected forward.headers["https://a.example"].X-Key to be text, got: a number; put it in quotes',
    ],
    [
      `${ALLOW}\n  headers: {'https://a.example': {Host: b}}`,
      expect.stringMatching(/^3:41: forward: headers of https:\/\/a\.example: the header host belongs/),
    ],
    [
      `${ALLOW}\n  headers: {'https://a.example': {A: b}, 'https://A.example/': {B: c}}`,
      '3:12: forward: headers has https://a.example twice',
    ],
    [
      `${ALLOW}\n  signing: {secret: whsec_hunter2}`,
      expect.stringMatching(/^3:21: forward: expected signing\.secret to refer to a variable/),
    ],
  ])('is checked at its place: %s', async (lines, fault) => {
    const faults = await faultsOf(`forward:\n  ${lines}\n`)
    expect(faults).toEqual([fault])
    expect(faults.join()).not.toContain('hunter2')
  })

  it('does not need its variables yet', async () => {
    const text = `forward: {${ALLOW}, headers: {'https://a.example': {X-Key: '\${NOWHERE}'}}}\n`
    expect((await load(text, { env: {} })).forward?.headers).toEqual({
      'https://a.example': { 'X-Key': `\${NOWHERE}` },
    })
  })
})
