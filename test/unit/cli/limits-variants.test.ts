import { beforeEach, describe, expect, it, vi } from 'vitest'
import { renderPreview } from '../../../src/cli/limits/preview-report.ts'
import { openService } from './open-service.ts'
import { run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN', 'VELVET_ROPE_URL']) {
    vi.stubEnv(name, undefined)
  }
})

describe('limits --dry-run', () => {
  it('says what a change would do to the live buckets, and does nothing', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s', 'vip/*': '500, 100/s' })
    for (let n = 0; n < 40; n++) await shaper.enqueue('shop/\u202e1', n)
    for (let n = 0; n < 5; n++) await shaper.enqueue('shop/2', n)
    await shaper.enqueue('vip/1', 0)
    const before = shaper.limits.list()
    const { code, stdout, stderr } = await run('limits', 'set', 'shop/*', '20,1/s', '--url', url, '--dry-run')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'dry run: nothing was changed; it would change 2 of 3 live buckets',
      '',
      'waiting        45 cost units',
      'longest drain  4 s, would be 40 s',
      'overfull       1: no new jobs until there is room',
      '',
      'key             waiting  limit      would be  fill  would be  drain  would be',
      '──────────────  ───────  ─────────  ────────  ────  ────────  ─────  ────────',
      'shop/\\u{202e}1       40  100, 10/s  20, 1/s    40%      200%    4 s      40 s',
      'shop/2                5  100, 10/s  20, 1/s     5%       25%  0.5 s       5 s',
      '',
    ])
    const unset = await run('limits', 'unset', '*', '--url', url, '--dry-run')
    expect(unset).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('without a rule  2: new jobs are refused'),
    })
    expect(unset.stdout).toMatch(/shop\/2 +5 {2}100, 10\/s {2}no rule +5% +0\.5 s\n/)
    expect(await run('limits', 'reset', '*', '--url', url, '--dry-run')).toEqual({
      code: 0,
      stdout: 'dry run: nothing was changed; it would change none of 3 live buckets\n',
      stderr: '',
    })
    const json = await run('limits', 'set', 'shop/*', '20, 1/s', '--url', url, '--dry-run', '--json')
    expect(JSON.parse(json.stdout)).toEqual(await shaper.limits.preview({ set: ['shop/*', '20, 1/s'] }))
    expect(shaper.limits.list()).toEqual(before)
  })

  it('counts those that it does not show', () => {
    const standing = { pattern: '*', limit: '5, 1/s', fill: 0.2, drainMs: 1_000 }
    const sample = { key: 'k', waiting: 1, before: standing, after: standing }
    const drainMs = { before: 1_000, after: 1_000 }
    const counts = { version: 1, waiting: 3, overfull: 0, ungoverned: 0, drainMs, samples: [sample] }
    const text = renderPreview({ ...counts, buckets: 9_000, affected: 1_235 })
    expect(text).toContain('it would change 1,235 of 9,000 live buckets')
    expect(text).toMatch(/\nand 1,234 more, which would change less$/)
    expect(
      renderPreview({ ...counts, buckets: 9, affected: 1, tooCostly: { jobs: 2, looked: 1_200 } }),
    ).toContain('too costly     2 of the first 1,200 jobs below: each would take')
    const none = { ...counts, affected: 0, samples: [] }
    expect(renderPreview({ ...none, buckets: 0 })).toBe('dry run: nothing was changed; no bucket is live')
    expect(renderPreview({ ...none, buckets: 1 })).toContain('none of the one live bucket')
  })
})

describe('limits --dry-run of a total', () => {
  it('says what it would do to the families that live', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s', 'shop/': '50, 5/s' })
    for (let n = 0; n < 30; n++) await shaper.enqueue(`shop/${n % 3}`, n)
    for (let n = 0; n < 5; n++) await shaper.enqueue('vip/1', n)
    const ask = async (...args: string[]) =>
      (await run('limits', ...args, '--url', url, '--dry-run')).stdout.split('\n')
    expect(await ask('set', 'shop/', '20,1/s')).toEqual([
      'dry run: nothing was changed; it would change the total of one family, with 3 of 4 live buckets',
      '',
      'waiting        30 cost units',
      'longest drain  6 s, would be 30 s',
      'overfull       1: no new jobs until there is room',
      '',
      'family  buckets  waiting  limit    would be  fill  would be  drain  would be',
      '──────  ───────  ───────  ───────  ────────  ────  ────────  ─────  ────────',
      'shop/         3       30  50, 5/s  20, 1/s    60%      150%    6 s      30 s',
      '',
    ])
    expect(await ask('unset', 'shop/')).toContain('longest drain  6 s, would be no total')
    const all = await ask('set', '*/', '90, 9/s')
    expect(all[0]).toContain('it would change the total of one family, with 1 of 4 live buckets')
    expect(all).toContain('longest drain  no total, would be 0.556 s')
    expect((await ask('set', 'other/', '9, 1/s'))[0]).toBe(
      'dry run: nothing was changed; it would change the total of no live family',
    )
  })
})

describe('limits --local', () => {
  it('sets and unsets a limit of the process of the service, and list shows it', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s' })
    expect(await run('limits', 'set', 'shop/*', '2, 5000/s', '--url', url, '--local')).toEqual({
      code: 0,
      stdout: 'set in the process of the service  shop/*  2, 5000/s\n',
      stderr: '',
    })
    expect(shaper.limits.locals()).toMatchObject([{ pattern: 'shop/*', limit: '2, 5000/s', by: 'anonymous' }])
    expect(shaper.limits.list()).toHaveLength(1)
    const { stdout } = await run('limits', 'list', '--url', url)
    expect(stdout).toMatch(
      /\nshop\/\* {3}2, 5000\/s {2}local +anonymous {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$/,
    )
    const json = await run('limits', 'list', '--url', url, '--json')
    expect(JSON.parse(json.stdout)).toEqual({
      version: 1,
      limits: [...shaper.limits.list(), ...shaper.limits.locals()],
      unset: [],
    })
    const set = await run('limits', 'set', 'a', '1, 1/s', '--url', url, '--local', '--json')
    expect(JSON.parse(set.stdout)).toMatchObject({ pattern: 'a', limit: '1, 1/s', origin: 'local' })
    const unset = (...more: string[]) => run('limits', 'unset', 'a', '--url', url, '--local', ...more)
    expect(await unset()).toEqual({
      code: 0,
      stdout: 'unset in the process of the service  a\n',
      stderr: '',
    })
    expect(await unset()).toEqual({
      code: 1,
      stdout: '',
      stderr: 'the process of the service has no local limit for "a"\n',
    })
    expect(await unset('--json')).toMatchObject({ code: 1, stdout: '{"pattern":"a","existed":false}\n' })
  })

  it('is what a refusal of enqueue names', async () => {
    const { shaper, url } = await openService({ '*': '100, 10/s' })
    shaper.limits.setLocal('*', '1, 1/h')
    await run('enqueue', 'k', '0', '--url', url)
    const { code, stdout, stderr } = await run('enqueue', 'k', '0', '--url', url)
    expect(code).toBe(3)
    expect(stdout + stderr).toContain(
      "full: 1 of 1 of the service's local limit are taken; retry in 60.0 min",
    )
  })

  it.each([
    [['set', 'a', '1, 1/s', '--local', '--name', 'x'], 'expected --url together with --local, got: none'],
    [
      ['set', 'a', '1, 1/s', '--local', '--redis', 'redis://h'],
      'expected --url together with --local, got: none',
    ],
    [['unset', 'a', '--local'], 'expected --url together with --local, got: none'],
    [
      ['set', 'a', '1, 1/s', '--local', '--dry-run', '--url', 'http://127.0.0.1:1'],
      '--local or --dry-run, got both',
    ],
    [['unset', 'a', '--local', '--dry-run', '--url', 'http://127.0.0.1:1'], '--local or --dry-run, got both'],
    [['set', 'a', '1, 1/s, warm-up 3s', '--local', '--url', 'http://127.0.0.1:1'], 'a meter starts nothing'],
    [['set', '..', '1, 1/s', '--dry-run', '--url', 'http://127.0.0.1:1'], 'which no URL can name'],
    [['reset', 'a', '--local', '--url', 'http://127.0.0.1:1'], "unknown option '--local'"],
    [['list', '--dry-run', '--url', 'http://127.0.0.1:1'], "unknown option '--dry-run'"],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await run('limits', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
