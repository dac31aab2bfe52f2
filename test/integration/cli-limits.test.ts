import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { run } from '../unit/cli/run-program.ts'

beforeEach(() => {
  vi.stubEnv('REDIS_URL', redisAddress())
  vi.stubEnv('VELVET_ROPE_NAME', undefined)
})

/** A line that its producer has opened, and the commands on it. */
async function openLine(limits: Record<string, string>, shards = 1) {
  const prefix = uniquePrefix()
  const shaper = new Shaper('sms', { limits, connection: redisAddress(), prefix, shards })
  onTestFinished(() => shaper.close())
  await shaper.ready()
  const flags = ['--name', 'sms', '--prefix', prefix]
  return {
    shaper,
    limits: (verb: string, ...args: string[]) => run('limits', verb, ...args, ...flags),
    top: (...args: string[]) => run('top', ...args, ...flags),
    explain: (...args: string[]) => run('explain', ...args, ...flags),
  }
}

it('limits of a line in Redis are shown without being changed', async () => {
  const { shaper, limits } = await openLine({ '*': '100, 10/s', 'vip/*': '500, 100/s' })
  const { code, stdout, stderr } = await limits('list', '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ version: 1, limits: shaper.limits.list(), unset: [] })
  expect(shaper.limits.list().map(({ origin }) => origin)).toEqual(['code', 'code'])
})

it('limits of a file stay those of the file', async () => {
  const { shaper, limits } = await openLine({ '*': '1, 1/s' })
  await shaper.limits.load({ '*': '2, 2/s' }, { origin: 'file', by: 'x.yaml' })
  const { stdout } = await limits('list', '--json')
  const rule = { pattern: '*', limit: '2, 2/s', origin: 'file', by: 'x.yaml', at: expect.any(Number) }
  expect(JSON.parse(stdout)).toEqual({ version: 2, limits: [rule], unset: [] })
  expect(shaper.limits.resolve('a')).toMatchObject({ limit: '2, 2/s', origin: 'file' })
})

it('limits that are set, reset and unset reach the processes of the line', async () => {
  const { shaper, limits } = await openLine({ '*': '100, 10/s' })
  const known = () => shaper.limits.resolve('a')
  expect(await limits('set', 'a', '5, 1/s')).toEqual({ code: 0, stdout: 'set  a  5, 1/s\n', stderr: '' })
  await expect
    .poll(known)
    .toMatchObject({ limit: '5, 1/s', origin: 'override', by: expect.stringMatching(/./) })
  expect(await limits('reset', 'a')).toMatchObject({ code: 0, stdout: 'reset  a\n' })
  await expect.poll(known).toMatchObject({ pattern: '*' })
  expect(await limits('reset', 'a')).toMatchObject({ code: 1, stderr: 'nothing was set by hand for "a"\n' })
  expect(await limits('unset', '*')).toMatchObject({ code: 0, stdout: 'unset  *\n' })
  await expect.poll(() => shaper.limits.list()).toEqual([])
  expect(await limits('unset', '*')).toMatchObject({ code: 1, stderr: 'no limit of "*"\n' })
})

it('a change that is meant for another version is refused', async () => {
  const { shaper, limits } = await openLine({ '*': '100, 10/s' })
  expect(await limits('set', 'a', '5, 1/s', '--if-version', '1')).toMatchObject({ code: 0 })
  expect(await limits('unset', '*', '--if-version', '1')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'velvet-rope: expected version 1 of the rule book to be in force, got: version 2; nothing was changed\n',
  })
  expect((await limits('list')).stderr).toBe('version 2 of the rule book\n')
  expect(await limits('reset', 'a', '--if-version', '2')).toMatchObject({ code: 0 })
  await expect.poll(() => shaper.limits.version).toBe(3)
})

it('a dry run shows what would change for waiting jobs, and changes nothing', async () => {
  const { shaper, limits } = await openLine({ '*': '100, 1/h' })
  await shaper.enqueueMany(['a', 'a', 'b'].map((key) => ({ key, data: 1 })))
  const { code, stdout } = await limits('set', 'a', '1, 2/h', '--dry-run', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual(await shaper.limits.preview({ set: ['a', '1, 2/h'] }))
  expect(await limits('unset', '*', '--dry-run')).toMatchObject({
    stdout: expect.stringMatching(/^dry run: nothing was changed; it would change 2 of 2 live buckets\n/),
  })
  expect(shaper.limits.list()).toMatchObject([{ pattern: '*', origin: 'code' }])
  expect(await limits('set', 'a', '1, 2/h', '--local')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected --url together with --local'),
  })
})

it('a line of several shards is known as such', async () => {
  const { shaper, limits, top } = await openLine({ '*': '9, 1/h' }, 4)
  const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`)
  await shaper.enqueueMany(keys.map((key) => ({ key, data: 1 })))
  const { stdout } = await top('--json', '--sort', 'key')
  expect(JSON.parse(stdout).buckets.map(({ key }: { key: string }) => key)).toEqual(keys.toSorted())
  await limits('set', 'key-3', '2, 1/h')
  await expect.poll(() => shaper.limits.resolve('key-3').limit).toBe('2, 1/h')
  expect(await shaper.inspect('key-3')).toMatchObject({ capacity: 2 })
  expect(await top('--shards', '2')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'velvet-rope: expected --shards 4, as the line has, got: 2\n',
  })
})

it('a job of a line in Redis is explained without a worker or a scheduler', async () => {
  const { shaper, explain } = await openLine({ '*': '9, 1/h' }, 4)
  await shaper.enqueueMany(['x', 'y'].map((id) => ({ key: 'a', data: 1, id })))
  const { code, stdout } = await explain('y', '--json')
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 0,
    position: 2,
    ahead: { ids: ['x'] },
    rule: { pattern: '*', limit: '9, 1/h', origin: 'code' },
  })
  expect((await explain('y')).stdout).toMatch(
    /^Second in line of a: departs in 60 min at 1\/h, behind 1 job\.\n/,
  )
  expect(await explain('unknown')).toMatchObject({ code: 1, stdout: '' })
})

it('looking at a line that does not exist does not create it', async () => {
  const prefix = uniquePrefix()
  const flags = ['--name', 'unknown', '--prefix', prefix]
  for (const command of [['limits', 'list'], ['limits', 'set', 'a', '1, 1/s'], ['top'], ['explain', 'x']]) {
    expect(await run(...command, ...flags)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^velvet-rope: expected a line that .* none named "unknown" in this Redis\n$/,
      ),
    })
  }
})

it.each([[['limits', 'list']], [['limits', 'set', 'a', '1, 1/s']], [['top', '--json']]])(
  '%j reports in one line that Redis is not there',
  async (command) => {
    const redis = ['--redis', 'redis://:secret@127.0.0.1:1', '--name', 'sms']
    expect(await run(...command, ...redis)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        // A busy machine may need longer than it takes until a command says that it waits.
        /^(?:waiting for an answer \(\d+ s\)\n)*velvet-rope: Redis is unavailable(?:(?!secret)[^\n])*\n$/,
      ),
    })
  },
)
