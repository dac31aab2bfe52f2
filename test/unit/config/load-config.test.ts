import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listSettings } from '../../../src/config/config.ts'
import { InvalidConfigError } from '../../../src/config/config-error.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { load, loadNothing, makeFolder, refusal } from './config-folder.ts'

describe('a configuration', () => {
  it('needs two lines', async () => {
    const config = await load("limits:\n  '*': 5, 1/s\n")
    expect(config).toMatchObject({
      limits: { '*': '5, 1/s' },
      listen: { host: '127.0.0.1', port: 7077 },
      name: 'main',
      drainMs: 25_000,
      log: { level: 'info' },
      work: { concurrency: 100, scheduler: true, leaseMs: 10_000 },
      tokens: [],
    })
    expect(config.redis).toBeUndefined()
    expect(config.forward).toBeUndefined()
  })

  it('needs no file at all, and then no key has a limit', async () => {
    const config = await loadNothing({})
    expect(config.limits).toEqual({})
    expect([config.file, config.digest]).toEqual([undefined, undefined])
    expect(new Set(Object.values(config.origins))).toEqual(new Set(['default']))
  })

  it('matches the example file', async () => {
    const text = readFileSync('velvet-rope.example.yaml')
    const { limits, forward } = await load(text)
    expect(limits).toEqual({ '*': '100, 10/s', stripe: '50, 25/s', 'stripe/acct_42': '500, 100/s' })
    expect(forward?.allow).toEqual(['https://api.stripe.com'])
  })

  it('matches the commented settings of the example file', async () => {
    const digest = createHash('sha256').update('a token').digest('hex')
    const text = readFileSync('velvet-rope.example.yaml', 'utf8')
      .replace('64 hexadecimal digits', digest)
      .replace(/^# (redis:|tokens:| {2})/gm, '$1')
    const { redis, forward, tokens } = await load(text)
    expect(redis).toBe('redis://127.0.0.1:6379')
    expect(forward?.headers).toEqual({
      'https://api.stripe.com': { Authorization: `Bearer \${STRIPE_KEY}` },
    })
    expect(tokens).toEqual([
      {
        name: 'shop',
        sha256: digest,
        scopes: ['enqueue', 'read'],
        prefixes: ['stripe'],
        limit: '600, 100/s',
      },
    ])
  })

  it('contains the path and the digest of the file', async () => {
    const cwd = makeFolder()
    const bytes = 'name: a\n'
    writeFileSync(join(cwd, 'velvet-rope.yaml'), bytes)
    const { file, digest } = await loadConfig({ cwd, env: {} })
    expect(file).toBe(join(cwd, 'velvet-rope.yaml'))
    expect(digest).toBe(createHash('sha256').update(bytes).digest('hex'))
  })

  it('is frozen, all the way down', async () => {
    const config = await load("limits: {a: '5, 1/s'}\nforward: {allow: ['https://a.example']}\n")
    const thaw = (value: unknown): unknown[] =>
      typeof value !== 'object' || value === null
        ? []
        : [...(Object.isFrozen(value) ? [] : [value]), ...Object.values(value).flatMap(thaw)]
    expect(thaw(config)).toEqual([])
  })

  it('normalizes limits, so that equal ones look equal', async () => {
    const limits = {
      text: '100,10/s',
      mapping: '\n    capacity: 100\n    rate: 10/s',
      flow: '{ capacity: 100, rate: 10 per second }',
      quoted: "'100, 10/s'",
    }
    const text = Object.entries(limits).map(([name, limit]) => `  ${name}: ${limit}\n`)
    const config = await load(`limits:\n${text.join('')}`)
    expect(new Set(Object.values(config.limits))).toEqual(new Set(['100, 10/s']))
    expect(Object.keys(config.limits)).toEqual(Object.keys(limits))
  })

  it('reads patterns that look like numbers or YAML keywords as text', async () => {
    const { limits } = await load(
      'limits:\n  15551234: 5, 1/s\n  true: 5, 1/s\n  007: 5, 1/s\n  no: 5, 1/s\n',
    )
    expect(Object.keys(limits)).toEqual(['15551234', 'true', '007', 'no'])
  })

  it('copies the value that an alias refers to', async () => {
    const { limits } = await load('limits:\n  a: &usual 5, 1/s\n  b: *usual\n')
    expect(limits).toEqual({ a: '5, 1/s', b: '5, 1/s' })
  })

  it('is listed without its secrets', async () => {
    const sha256 = 'ab'.repeat(32)
    const config = await load(
      `redis: redis://me:hunter2@cache:6379/2
tokens: [{ name: shop, sha256: ${sha256}, scopes: [read] }, { name: shop, sha256: ${'cd'.repeat(32)}, scopes: [admin] }]
forward:
  allow: [https://a.example, https://b.example]
  headers: { https://a.example: { X-Key: 'of \${KEY}' } }
`,
      { flags: { listen: '[::1]:80' } },
    )
    const settings = new Map(listSettings(config).map(({ path, value, origin }) => [path, { value, origin }]))
    expect(settings.get('redis')).toEqual({ value: 'redis://***@cache:6379/2', origin: 'file' })
    expect(settings.get('tokens.shop.sha256')).toEqual({ value: '***', origin: 'file' })
    expect(settings.get('tokens["shop (2)"].scopes')).toEqual({ value: 'admin', origin: 'file' })
    expect(settings.get('forward.headers["https://a.example"].X-Key')).toEqual({
      value: '***',
      origin: 'file',
    })
    expect(settings.get('forward.allow')?.value).toBe('https://a.example, https://b.example')
    expect(settings.get('listen')).toEqual({ value: '[::1]:80', origin: 'flag' })
    expect(settings.get('http.corsOrigins')).toEqual({ value: 'none', origin: 'default' })
    expect(JSON.stringify([...settings])).not.toMatch(/hunter2|abab|of \$/)
  })
})

describe('the file', () => {
  it('may begin with a byte order mark, and end its lines as Windows does', async () => {
    const config = await load("\ufefflimits:\r\n  '*': 5, 1/s\r\nname: b\r\n")
    expect(config).toMatchObject({ limits: { '*': '5, 1/s' }, name: 'b' })
    expect(await refusal(load('\ufeffname: 5\r\nlisten: 6\r\n'))).toEqual([
      expect.stringMatching(/^velvet-rope\.yaml:1:7: /),
      expect.stringMatching(/^velvet-rope\.yaml:2:9: /),
    ])
  })

  it('is named by the command line before the environment', async () => {
    const cwd = makeFolder()
    for (const name of ['velvet-rope', 'flag', 'variable']) {
      writeFileSync(join(cwd, `${name}.yaml`), `name: ${name}\n`)
    }
    const env = { VELVET_ROPE_CONFIG: 'variable.yaml' }
    expect((await loadConfig({ cwd, env: {} })).name).toBe('velvet-rope')
    expect((await loadConfig({ cwd, env })).name).toBe('variable')
    expect((await loadConfig({ cwd, env, file: 'flag.yaml' })).name).toBe('flag')
    expect((await loadConfig({ cwd, env: { VELVET_ROPE_CONFIG: '' } })).name).toBe('velvet-rope')
    expect((await loadConfig({ cwd: '/', env: {}, file: join(cwd, 'flag.yaml') })).name).toBe('flag')
  })

  it('must be there if it was named', async () => {
    expect(await refusal(loadNothing({ file: 'other.yaml' }))).toEqual([
      'other.yaml: cannot be read: no such file',
    ])
    expect(await refusal(loadNothing({ env: { VELVET_ROPE_CONFIG: 'a/b.yaml' } }))).toEqual([
      'a/b.yaml: cannot be read: no such file',
    ])
  })

  it('is a file', async () => {
    const cwd = makeFolder()
    mkdirSync(join(cwd, 'velvet-rope.yaml'))
    expect(await refusal(loadConfig({ cwd, env: {} }))).toEqual([
      expect.stringMatching(/^velvet-rope\.yaml: cannot be read: it is a folder/),
    ])
    symlinkSync('circle', join(cwd, 'circle'))
    expect(await refusal(loadConfig({ cwd, env: {}, file: 'circle' }))).toEqual([
      'circle: cannot be read: its symbolic links form a cycle',
    ])
    writeFileSync(join(cwd, 'plain'), '')
    expect(await refusal(loadConfig({ cwd, env: {}, file: 'plain/a.yaml' }))).toEqual([
      'plain/a.yaml: cannot be read: a part of its path is not a folder',
    ])
  })

  it('must not be endless', async () => {
    expect(await refusal(loadNothing({ file: '/dev/zero' }))).toEqual([
      '/dev/zero: cannot be read: expected at most 4194304 bytes, got: more',
    ])
    const full = `name: a #${'x'.repeat(4_194_304 - 10)}\n`
    expect((await load(full)).name).toBe('a')
    expect(await refusal(load(`${full}\n`))).toHaveLength(1)
  })

  it('is text in UTF-8', async () => {
    expect(await refusal(load(Buffer.from('\ufeffname: a\n', 'utf16le')))).toEqual([
      'velvet-rope.yaml: cannot be read: expected text in UTF-8, got: UTF-16; save it as UTF-8',
    ])
    const latin1 = Buffer.concat([
      Buffer.from('# a replacement \ufffd, written\n# é\n'),
      Buffer.from('name: caf\u00e9\n', 'latin1'),
    ])
    expect(await refusal(load(latin1))).toEqual([
      'velvet-rope.yaml:3:10: expected text in UTF-8, got: an invalid byte; save the file as UTF-8',
    ])
    expect(await refusal(load(Buffer.from([0xc3])))).toEqual([
      expect.stringMatching(/^velvet-rope\.yaml:1:1: /),
    ])
  })

  it('has all its problems reported together, in its order, in twenty lines at most', async () => {
    const env = { VELVET_ROPE_SHARDS: 'many', VELVET_ROPE_LISTN: 'x' }
    const flags = { drainMs: -1 }
    const lines = await refusal(load('work: 5\nlisten: x\nnam: y\n', { env, flags }))
    expect(lines.map((line) => line.split(': ')[0])).toEqual([
      'velvet-rope.yaml:1:7',
      'velvet-rope.yaml:2:9',
      'velvet-rope.yaml:3:1',
      '--drain-ms',
      'VELVET_ROPE_LISTN',
      'VELVET_ROPE_SHARDS',
    ])
    const many = Array.from({ length: 25 }, (_, index) => `  k${index}: 5\n`).join('')
    const error: unknown = await load(`limits:\n${many}`).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(InvalidConfigError)
    const { problems, message, code } = error as InvalidConfigError
    expect(code).toBe('invalid-config')
    expect(problems).toHaveLength(25)
    expect(problems[24]?.where).toBe('velvet-rope.yaml:26:8')
    expect(message.split('\n')).toHaveLength(21)
    expect(message).toMatch(/\n\.\.\. and 5 more$/)
  })
})
