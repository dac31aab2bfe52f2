import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openService, openStranger, SECRET, tokenFor } from './open-service.ts'
import { run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN', 'VELVET_ROPE_URL']) {
    vi.stubEnv(name, undefined)
  }
})

describe('limits of a service', () => {
  it('lists the rule book: where each rule comes from, who set it and when', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s' })
    await shaper.limits.set('vip/\u202e/*', '500, 100/s', { by: 'ops' })
    const { code, stdout, stderr } = await run('limits', 'list', '--url', url)
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'version 2 of the rule book\n' })
    expect(stdout.split('\n')).toEqual([
      'pattern         limit       origin    by      at (UTC)',
      '──────────────  ──────────  ────────  ──────  ───────────────────',
      expect.stringMatching(/^\* {15}100, 10\/s {3}code {6}app:17 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      expect.stringMatching(
        /^vip\/\\u\{202e\}\/\* {2}500, 100\/s {2}override {2}ops {5}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
      ),
      '',
    ])
    const json = await run('limits', 'list', '--url', url, '--json')
    expect(json.stderr).toBe('')
    expect(JSON.parse(json.stdout)).toEqual({ version: 2, limits: shaper.limits.list(), unset: [] })
  })

  it('changes only the version given with --if-version, and exits with 1 for another', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s' })
    const ask = (...args: string[]) => run('limits', ...args, '--url', url)
    const other = (version: number, got: number) => ({
      code: 1,
      stdout: '',
      stderr: `velvet-rope: expected version ${version} of the rule book to be in force, got: version ${got}; nothing was changed\n`,
    })
    expect(await ask('set', 'a', '5, 1/s', '--if-version', '4')).toEqual(other(4, 1))
    expect(await ask('set', 'a', '5, 1/s', '--if-version', '1')).toMatchObject({ code: 0 })
    expect(await ask('unset', '*', '--if-version', '1')).toEqual(other(1, 2))
    expect(await ask('reset', 'a', '--if-version', '1', '--json')).toEqual(other(1, 2))
    expect(shaper.limits.list()).toHaveLength(2)
    expect(await ask('reset', 'a', '--if-version', '2')).toMatchObject({ code: 0, stdout: 'reset  a\n' })
  })

  it('sets a limit; the pattern may hold anything that a key may', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s' })
    for (const pattern of ['stripe/acct_42', 'a/*/c', 'ü 100%/?#&', '*']) {
      expect(await run('limits', 'set', pattern, '7,60/minute', '--url', url)).toEqual({
        code: 0,
        stdout: `set  ${pattern}  7, 60/m\n`,
        stderr: '',
      })
      expect(shaper.limits.list()).toContainEqual(expect.objectContaining({ pattern, limit: '7, 60/m' }))
    }
    const { stdout } = await run('limits', 'set', 'x', '1, 1/s', '--url', url, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ pattern: 'x', limit: '1, 1/s', origin: 'override' })
  })

  it('unsets and resets, and exits with 1 when there was nothing to', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s', a: '5, 1/s' })
    await shaper.limits.set('a', '6, 1/s')
    const ask = (verb: string, ...more: string[]) => run('limits', verb, 'a', '--url', url, ...more)
    expect(await ask('reset')).toEqual({ code: 0, stdout: 'reset  a\n', stderr: '' })
    expect(shaper.limits.resolve('a').limit).toBe('5, 1/s')
    expect(await ask('reset')).toEqual({ code: 1, stdout: '', stderr: 'nothing was set by hand for "a"\n' })
    expect(await ask('unset')).toEqual({ code: 0, stdout: 'unset  a\n', stderr: '' })
    expect(shaper.limits.resolve('a').pattern).toBe('*')
    expect(await ask('unset')).toEqual({ code: 1, stdout: '', stderr: 'no limit of "a"\n' })
    expect(await ask('unset', '--json')).toEqual({
      code: 1,
      stdout: '{"pattern":"a","existed":false}\n',
      stderr: '',
    })
    // What was unset by hand can be taken back as well.
    expect(await ask('reset', '--json')).toMatchObject({
      code: 0,
      stdout: '{"pattern":"a","existed":true}\n',
    })
    expect(shaper.limits.resolve('a').limit).toBe('5, 1/s')
  })

  it('shows a token to the service alone, from flag or environment', async () => {
    const { url } = await openService({ '*': '1, 1/s' }, [tokenFor('read')])
    const flag = ['--url', url, '--token', SECRET]
    const ran = [
      await run('limits', 'list', ...flag),
      await run('limits', 'set', 'a', '1, 1/s', ...flag),
      await run('limits', 'list', '--url', url),
      await run('limits', 'list', '--url', url, '--token', 'wrong'),
    ]
    vi.stubEnv('VELVET_ROPE_TOKEN', SECRET)
    ran.push(await run('limits', 'list', '--url', url), await run('limits', 'list', '--help'))
    expect(ran.map(({ code }) => code)).toEqual([0, 2, 2, 2, 0, 0])
    expect(ran[1]!.stderr).toMatch(/^velvet-rope: the service answered 403: .*scope admin/)
    expect(ran[2]!.stderr).toMatch(/^velvet-rope: the service answered 401: .*VELVET_ROPE_TOKEN/)
    expect(ran[3]!.stderr).toMatch(/check the token\n$/)
    expect(JSON.stringify(ran)).not.toContain(SECRET)
  })

  it('exits with 1 when the service is away or in trouble', async () => {
    const { url, close } = await openService({ '*': '1, 1/s' })
    await close()
    const away = await run('limits', 'list', '--url', url, '--token', SECRET)
    expect(away).toMatchObject({ code: 1, stdout: '' })
    expect(away.stderr).toMatch(
      /^velvet-rope: the service at \S+ does not answer: [^\n]*ECONNREFUSED[^\n]*\n$/,
    )
    const broken = await openStranger((response) => response.writeHead(503).end())
    expect(await run('limits', 'list', '--url', broken.url)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'velvet-rope: the service answered 503\n',
    })
  })
})

describe('limits refuses', () => {
  const URL = ['--url', 'http://127.0.0.1:1']

  it.each([
    [[], 'Commands:'],
    [['lst', ...URL], "unknown command 'lst'"],
    [['list'], 'expected --name, or VELVET_ROPE_NAME in the environment, for a line in Redis, or --url'],
    [['list', '--name', 'x'], 'expected --redis, or REDIS_URL in the environment'],
    [['list', ...URL, '--name', 'x'], 'expected --url or --name, got both'],
    [['list', ...URL, '--shards', '2'], 'expected --url or --shards, got both'],
    [['list', ...URL, 'a'], 'too many arguments'],
    [['list', '--url', 'nowhere'], 'text that is no URL'],
    [['list', '--url', 'http://u:secret@h'], 'one with a user or a password'],
    [['list', '--token', 'secret', '--name', 'x'], 'expected --url together with --token'],
    [['list', ...URL, '--token', 'se cret'], 'to be a bearer token'],
    [['list', '--name', 'x', '--redis', 'redis://:secret@h/x'], 'the database of the URL'],
    [
      ['list', '--name', 'x', '--redis', 'redis://:secret@h', '--prefix', '{}'],
      'expected prefix to be letters',
    ],
    [['set', 'a', ...URL], "missing required argument 'limit'"],
    [['set', 'a', '10', ...URL], 'got: "10"'],
    [['set', 'a', '1, 1/s', '--jsn', ...URL], 'Did you mean --json?'],
    [['set', '', '1, 1/s', ...URL], 'expected the pattern to be 1 to 256 bytes'],
    [['set', 'a\nb', '1, 1/s', ...URL], 'no control characters'],
    [['set', '..', '1, 1/s', ...URL], 'which no URL can name'],
    [['unset', 'x'.repeat(257), ...URL], 'expected the pattern to be 1 to 256 bytes'],
    [['reset', ...URL], "missing required argument 'pattern'"],
    [['reset', 'a', '--if-version', '-1', ...URL], 'Expected a whole number from 0'],
    [['set', 'a', '1, 1/s', '--if-version', '1.5', ...URL], 'Expected a whole number from 0'],
    [['list', '--if-version', '1', ...URL], "unknown option '--if-version'"],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await run('limits', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/secret|se cret| {4}at /)
  })
})

it.each([[], ['a', '9, 1/s'], ['a', '--url', 'http://127.0.0.1:1']])(
  'limits preview says what shows a preview: %j',
  async (...args) => {
    const { code, stdout, stderr } = await run('limits', 'preview', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('set, unset and reset with --dry-run show what they would do')
    expect((await run('limits', '--help')).stdout).not.toContain('preview')
    expect((await run('completion', 'bash')).stdout).not.toContain('limits preview')
  },
)
