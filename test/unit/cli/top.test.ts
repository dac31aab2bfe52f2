import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openService, openStranger, SECRET, tokenFor } from './open-service.ts'
import { run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN', 'VELVET_ROPE_URL']) {
    vi.stubEnv(name, undefined)
  }
})

/** `full` 4 of 4, `half/a` 2 of 4, `half/b` 1 of 4 and frozen. */
async function busyService() {
  const service = await openService({ '*': '4, 1/h' })
  for (const key of ['full', 'full', 'full', 'full', 'half/a', 'half/a', 'half/b']) {
    await service.shaper.enqueue(key, 1)
  }
  await service.shaper.freeze('half/b', 3_600_000)
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run('top', '--url', service.url, '--json', ...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  const keys = async (...args: string[]) =>
    (await json(...args)).buckets.map(({ key }: { key: string }) => key)
  return { ...service, json, keys }
}

describe('top without a terminal', () => {
  it('prints one table', async () => {
    const { url } = await busyService()
    const { code, stdout, stderr } = await run('top', '--url', url)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('\u001b')
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^key +fill +waiting +running +state +oldest +next +rate$/)
    expect(lines.slice(2)).toEqual([
      expect.stringMatching(/^full +█{10} +100% +4\/4 +0 +full /),
      expect.stringMatching(/^half\/a +█{5}·{5} +50% +2\/4 +0 +waiting /),
      expect.stringMatching(/^half\/b +██▌·{7} +25% +1\/4 +0 +frozen .* 60m +1\/h$/),
    ])
  })

  it('prints one JSON document, which holds all that the shaper returns', async () => {
    const { json, shaper } = await busyService()
    const { at, total, buckets } = await json()
    expect(Math.abs(at - Date.now())).toBeLessThan(60_000)
    expect(total).toBe(3)
    const [view] = (await shaper.buckets({ limit: 1 })).buckets
    expect(buckets[0]).toEqual({
      ...view,
      // They change from one moment to the next.
      oldestWaitMs: expect.any(Number),
      nextDepartureAt: expect.any(Number),
    })
  })

  it('filters and sorts', async () => {
    const { keys } = await busyService()
    expect(await keys('half/')).toEqual(['half/a', 'half/b'])
    expect(await keys('--min-fill', '50%')).toEqual(['full', 'half/a'])
    expect(await keys('--sort', 'key', '--reverse')).toEqual(['half/b', 'half/a', 'full'])
    expect(await keys('--sort', 'next')).toHaveLength(3)
  })

  it('says how many it left out', async () => {
    const { url, keys } = await busyService()
    expect(await run('top', '--url', url, '--count', '1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^full /m),
      stderr: '1 of 3 buckets; --count for more\n',
    })
    expect(await keys('--count', '2')).toHaveLength(2)
  })

  it('reads page after page when more is wanted than one holds', async () => {
    const { shaper, url } = await openService({ '*': '1, 1/h' })
    await shaper.enqueueMany(Array.from({ length: 1_500 }, (_, n) => ({ key: `k${n}`, data: 1 })))
    const { stdout } = await run('top', '--url', url, '--json', '--count', '1400')
    const keys = JSON.parse(stdout).buckets.map(({ key }: { key: string }) => key)
    expect(new Set(keys).size).toBe(1_400)
  })

  it('reports a missing right, and shows only what a token may see', async () => {
    const { shaper, url } = await openService({ '*': '4, 1/h' }, [tokenFor('read', 'mine')])
    for (const key of ['mine/a', 'theirs/a']) await shaper.enqueue(key, 1)
    const mine = await run('top', '--url', url, '--token', SECRET, '--json')
    expect(JSON.parse(mine.stdout)).toMatchObject({ total: 1, buckets: [{ key: 'mine/a' }] })
    const refused = [
      await run('top', 'theirs', '--url', url, '--token', SECRET),
      await run('top', '--url', url),
      await run('top', '--url', url, '--token', 'wrong'),
    ]
    expect(refused.map(({ code, stdout }) => ({ code, stdout }))).toEqual(
      Array(3).fill({ code: 2, stdout: '' }),
    )
    expect(refused.map(({ stderr }) => /answered (\d+)/.exec(stderr)?.[1])).toEqual(['403', '401', '401'])
    expect(JSON.stringify(refused)).not.toContain(SECRET)
  })

  it('exits with 1 when the service is away', async () => {
    const { url, close } = await openService({ '*': '1, 1/s' })
    await close()
    for (const more of [[], ['--json'], ['--json', '--every', '1']]) {
      expect(await run('top', '--url', url, ...more)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^velvet-rope: the service at \S+ does not answer: [^\n]*\n$/),
      })
    }
  })

  it('understands a newer service, and says of something else that it is none', async () => {
    const bucket = '{"key":"a","state":"waiting","waiting":1,"capacity":2,"fill":0.5,"mood":"fine"}'
    const newer = await openStranger((response) => response.end(`{"buckets":[${bucket}],"total":1,"more":1}`))
    expect(await run('top', '--url', newer.url)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^a /m),
    })
    const other = await openStranger((response) => response.end('{"buckets":[{}]}'))
    expect(await run('top', '--url', other.url)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is http:\S+ a velvet-rope of this version\? buckets\.0\.key: /),
    })
  })
})

describe('top refuses', () => {
  const URL = ['--url', 'http://127.0.0.1:1']

  it.each([
    [[], 'expected --name, or VELVET_ROPE_NAME in the environment, for a line in Redis, or --url'],
    [['--name', 'x'], 'expected --redis, or REDIS_URL in the environment'],
    [[...URL, '--redis', 'redis://:secret@h'], 'expected --url or --redis, got both'],
    [[...URL, '--sort', 'size'], 'Allowed choices are fill, waiting, oldest, next, running, key'],
    [[...URL, '--min-fill', '101'], 'Expected a percentage from 0 to 100, got: "101"'],
    [[...URL, '--min-fill', 'half'], 'Expected a percentage'],
    [[...URL, '--count', '0'], 'Expected a whole number from 1'],
    [[...URL, '--every', '0'], 'Expected a number above 0'],
    [[...URL, '--every', '1', '--once'], "option '--once' cannot be used with option '--every"],
    [['é'.repeat(129), ...URL], 'expected <prefix> to be at most 256 bytes, got: 258'],
    [['a', 'b', ...URL], 'too many arguments'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await run('top', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/secret| {4}at /)
  })

  it('shows its keys and examples in its help', async () => {
    const { stdout } = await run('top', '--help')
    expect(stdout).toContain('r  reverse the order')
    expect(stdout).toContain('velvet-rope top --url http://127.0.0.1:7077')
  })
})
