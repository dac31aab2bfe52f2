import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { enqueueCommand } from '../../../src/cli/enqueue/command.ts'
import { BackendUnavailableError, isVelvetRopeError } from '../../../src/core/errors.ts'
import { Shaper } from '../../../src/index.ts'
import { catchOutput, run } from './run-program.ts'

const REDIS = ['--redis', 'redis://:secret@127.0.0.1:1']
const LINE = ['--name', 'sms', ...REDIS]

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-enqueue-'))
afterAll(() => rmSync(folder, { recursive: true }))

let shaper: Shaper | undefined
afterEach(() => shaper?.close())
beforeEach(() => {
  vi.stubEnv('REDIS_URL', undefined)
  vi.stubEnv('VELVET_ROPE_NAME', undefined)
})

/** Runs the command on a line in memory, which lives on to be looked at. */
function enqueue(limit: string, args: readonly string[], input = '', arrange = (_shaper: Shaper) => {}) {
  const command = enqueueCommand((name, { limits }) => {
    const opened = new Shaper(name, { limits })
    shaper = opened
    vi.spyOn(opened, 'close').mockResolvedValue()
    arrange(opened)
    return opened
  })
  return catchOutput(async () => {
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(
      Object.assign(Readable.from([Buffer.from(input)]), { isTTY: false }) as typeof process.stdin,
    )
    try {
      await command.parseAsync([...LINE, '--limit', limit, ...args], { from: 'user' })
      return 0
    } catch (error) {
      if (!isVelvetRopeError(error)) throw error
      process.stderr.write(`${error.code}: ${error.message}\n`)
      return 1
    }
  })
}

const job = (key: string, more = '') => `{"key":"${key}","data":1${more}}\n`

describe('enqueue of one job', () => {
  it('says that it was accepted', async () => {
    const ran = await enqueue('2, 1/s', ['+15551234', '{"text":"hello"}', '--id', 'order-7', '--cost', '2'])
    expect(ran).toEqual({
      code: 0,
      stdout: 'accepted  order-7: position 1, departs now\n',
      stderr: '',
    })
    expect(await shaper?.job('order-7')).toMatchObject({ key: '+15551234', cost: 2, data: { text: 'hello' } })
  })

  it('exits with 3 when it was rejected', async () => {
    const ran = await enqueue('2, 1/s', ['a', 'null', '--cost', '3'])
    expect(ran).toEqual({
      code: 3,
      stdout: 'rejected  too-costly: 0 of 2 waiting; the cost exceeds the capacity\n',
      stderr: '',
    })
  })

  it('answers in JSON', async () => {
    const { stdout } = await enqueue('2, 1/s', ['a', '"text"', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ accepted: true, key: 'a', position: 1, waitMs: 0 })
  })
})

describe('costs in other units', () => {
  const LIMIT = '20, 1/s, 1000 tokens/minute 400 each, 50 images/day 1 each'

  it('are given by a flag, for one job or as the default of lines', async () => {
    await enqueue(LIMIT, ['a', '1', '--id', 'one', '--cost-of', 'tokens=900,images=2'])
    expect(await shaper?.job('one')).toMatchObject({ costs: { images: 2, tokens: 900 } })
    await enqueue(LIMIT, ['a', '1', '--id', 'two', '--cost-of', 'tokens=900', '--cost-of', 'images=2'])
    expect(await shaper?.job('two')).toMatchObject({ costs: { images: 2, tokens: 900 } })
    const lines = job('a', ',"id":"plain"') + job('a', ',"id":"own","costs":{"tokens":7}')
    await enqueue(LIMIT, ['--cost-of', 'tokens=1'], lines)
    expect((await shaper?.job('plain'))?.costs).toEqual({ tokens: 1 })
    expect((await shaper?.job('own'))?.costs).toEqual({ tokens: 7 })
  })

  it('name the quota that a job alone exceeds', async () => {
    expect(await enqueue(LIMIT, ['a', '1', '--cost-of', 'tokens=1001'])).toMatchObject({
      code: 3,
      stdout:
        'rejected  too-costly: 0 of 20 waiting; the job alone exceeds the quota of 1000 tokens/minute\n',
    })
  })

  it('are refused in another form', async () => {
    const { stderr } = await run('enqueue', 'a', '1', '--cost-of', 'tokens')
    expect(stderr).toContain('Expected costs such as tokens=1200,images=2, got: "tokens"')
    const twice = await run('enqueue', 'a', '1', '--cost-of', 'tokens=1', '--cost-of', 'tokens=2')
    expect(twice).toMatchObject({ code: 2, stdout: '' })
    expect(twice.stderr).toContain('Expected each unit once, got: "tokens=1,tokens=2"')
  })

  it('say of a time that free places decide about that it is an estimate', async () => {
    const arrange = (opened: Shaper) => void opened.enqueue('a', 1)
    const { stdout } = await enqueue('20, 1/s, 1 at once', ['a', '1'], '', arrange)
    expect(stdout).toMatch(/departs in about [\d.]+ s\n$/)
  })
})

describe('enqueue of JSON lines', () => {
  it('sums up, and exits with 3 when a job was rejected', async () => {
    const ran = await enqueue('2, 1/s', [], job('a').repeat(3) + job('b', ',"cost":5'))
    expect(ran).toMatchObject({ code: 3, stderr: '' })
    expect(ran.stdout).toMatch(
      /^accepted {6}2\nrejected {6}2\n {2}full {8}1\n {2}too-costly {2}1\nlongest wait {2}1 s\njobs\/s {8}[\d,]+\n$/,
    )
  })

  it('sums up in JSON', async () => {
    const { code, stdout } = await enqueue('9, 1/s', ['--json', '--cost', '2'], job('a').repeat(2))
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 2,
      replayed: 0,
      rejected: { full: 0, deadline: 0, paused: 0, 'too-costly': 0 },
      invalid: 0,
      longestWaitMs: 2_000,
      settledLine: 2,
    })
  })

  it('stops at a bad line, and says what was done before', async () => {
    const input = `${job('a').repeat(500)}${job('b').repeat(3)}{"key":"b"}\n${job('b')}`
    const ran = await enqueue('1000, 1/s', [], input)
    expect(ran).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'accepted so far: 500, of lines 1 to 500; nothing after line 500 was enqueued\n' +
        'invalid-input: stdin:504:1: expected a value for data, got none\n',
    })
    expect(await shaper?.inspect('b')).toBeUndefined()
  })

  it('says that nothing was enqueued when the first batch has a bad line', async () => {
    const ran = await enqueue('1000, 1/s', [], `${job('a')}{"key":"b"}\n`)
    expect(ran.stderr).toBe(
      'nothing was enqueued\ninvalid-input: stdin:2:1: expected a value for data, got none\n',
    )
    expect(await shaper?.inspect('a')).toBeUndefined()
  })

  it('goes on after bad lines with --skip-invalid, and shows the first 20', async () => {
    const input = `${'oops\n'.repeat(25)}${job('a')}`
    const { code, stdout, stderr } = await enqueue('9, 1/s', ['--skip-invalid'], input)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^accepted +1\n[\s\S]*^invalid lines +25$/m)
    const lines = stderr.trimEnd().split('\n')
    expect(lines[19]).toMatch(/^stdin:20:1: expected JSON/)
    expect(lines.slice(20)).toEqual(['... and 5 more'])
  })

  it('counts the jobs by the units that no quota counts, the first eight of them', async () => {
    const input = job('a', ',"costs":{"tokns":1}').repeat(2) + job('a', ',"costs":{"tokens":1}')
    const { stdout } = await enqueue(`9, 1/s, 9 tokens/minute 1 each`, [], input)
    expect(stdout).toMatch(/^accepted +3\n {2}no quota counts tokns +2\nrejected +0\n/)
    const units = 'abcdefghi'.split('').map((unit) => job('a', `,"costs":{"${unit}":1}`))
    const summed = await enqueue('9, 1/s', ['--json'], units.join('') + units[0])
    expect(JSON.parse(summed.stdout)).toMatchObject({ uncounted: { a: 1, b: 1, h: 1 } })
    expect(Object.keys(JSON.parse(summed.stdout).uncounted)).toHaveLength(8)
  })

  it('treats an id of another job and a key without a limit as bad lines', async () => {
    const input = job('a', ',"id":"x"') + job('b') + job('a/c', ',"id":"x"')
    const { stdout, stderr } = await enqueue('9, 1/s', ['--skip-invalid'], input)
    expect(stderr).toMatch(/^stdin:3:1: the id "x" is already used by a job with a different key/)
    expect(stdout).toMatch(/^accepted +2\n/)
    const { stderr: stopped } = await enqueue('9, 1/s', [], input)
    expect(stopped).toMatch(/^accepted so far: none; lines 1 to 3 may have been accepted/)
  })

  it('waits until all are in with --wait', async () => {
    const input = job('a').repeat(4) + job('b', ',"cost":2')
    const work = (opened: Shaper) => void opened.work(() => {})
    const { code, stdout } = await enqueue('1, 50/s', ['--wait', '--json'], input, work)
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 4, rejected: { full: 0, 'too-costly': 1 } })
  })

  it('says what is not known when the store goes away', async () => {
    const breakDown = (opened: Shaper) =>
      void vi.spyOn(opened, 'enqueueMany').mockRejectedValue(new BackendUnavailableError('Redis is away'))
    expect(await enqueue('9, 1/s', [], job('a').repeat(2), breakDown)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'accepted so far: none; lines 1 to 2 may have been accepted: those with an "id" can be sent again\n' +
        'backend-unavailable: Redis is away\n',
    })
  })
})

describe('enqueue refuses', () => {
  const limits = join(folder, 'limits.json')
  writeFileSync(limits, '{ "a": "1" }')

  it.each([
    [['a', '1', '--limit', '1, 1/s', '--name', 'x'], 'expected --redis, or REDIS_URL in the environment'],
    [['a', '1', '--limit', '1, 1/s', ...REDIS], 'expected --name, or VELVET_ROPE_NAME in the environment'],
    [['a', '1', '--url', 'http://h', '--name', 'x'], 'expected --url or --name, got both'],
    [['a', '1', '--url', 'http://h', '--limit', '1, 1/s'], 'expected --url or --limit, got both'],
    [['a', '1', '--url', 'ftp://h'], 'one that begins with "ftp"'],
    [['a', '1', '--url', 'h:x'], 'expected --url to be the address of a service'],
    [['a', '1', '--url', 'http://u:secret@h'], 'one with a user or a password'],
    [['a', '1', '--url', 'http://h?secret'], 'one with ? or #'],
    [['a', '1', '--url', 'http://h', '--token', 'sec\nret secret'], 'to be a bearer token'],
    [['a', '1', ...LINE, '--limit', '1, 1/s', '--token', 'secret'], 'expected --url together with --token'],
    [['a', '1', ...LINE], "expected --limit '<capacity>, <rate>'"],
    [['a', '1', ...LINE, '--limits', limits], 'limits.json:1:3: limit "a"'],
    [['a', ...LINE, '--limit', '1, 1/s'], 'expected data as JSON after the key "a"'],
    [['a', 'text', ...LINE, '--limit', '1, 1/s'], 'data:1:2: expected JSON, such as'],
    [['--id', 'x', ...LINE, '--limit', '1, 1/s'], 'expected --id together with a <key>'],
    [['a', '1', '--skip-invalid', ...LINE, '--limit', '1, 1/s'], 'expected --skip-invalid without a <key>'],
    [['a', '1', '--cost', '0', ...LINE, '--limit', '1, 1/s'], 'Expected a whole number from 1'],
    [['a', '1', '--shards', '0', ...LINE, '--limit', '1, 1/s'], 'Expected a whole number from 1 to 256'],
    [['a', '1', '--prefix', '{}', ...LINE, '--limit', '1, 1/s'], 'expected prefix to be letters'],
    [
      ['a', '1', '--redis', 'http://u:secret@h', '--name', 'x', '--limit', '1, 1/s'],
      'that begins with "http"',
    ],
    [['a', '1', '--redis', 'redis://u:se/cret@h:x', '--name', 'x', '--limit', '1, 1/s'], 'cannot be read'],
    [['a', '1', '2', ...LINE, '--limit', '1, 1/s'], 'too many arguments'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await run('enqueue', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/secret|se\/cret| {4}at /)
  })
})
