import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { readEnvironment } from '../../../workers/environment.ts'
import { loadHandler } from '../../../workers/handler-file.ts'
import { oneLine } from '../../../workers/one-line.ts'
import { showRedisUrl } from '../../../workers/redis-url.ts'
import { logWorker, Repetition } from '../../../workers/worker-log.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-worker-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ENV = { REDIS_URL: 'redis://u:secret@h:1/2', VELVET_ROPE_NAME: 'sms', VELVET_ROPE_LIMIT: '10, 1/s' }

describe('a worker process', () => {
  it('reads its environment; what is empty counts as absent', () => {
    const env = { ...ENV, VELVET_ROPE_SHARDS: '4', VELVET_ROPE_LEASE_MS: '5000', VELVET_ROPE_PREFIX: '' }
    expect(readEnvironment(['./handler.js'], env)).toEqual({
      file: './handler.js',
      name: 'sms',
      shaper: { limits: { '*': '10, 1/s' }, connection: ENV.REDIS_URL, prefix: undefined, shards: 4 },
      work: { concurrency: undefined, leaseMs: 5_000 },
      drainMs: 25_000,
    })
  })

  it.each([
    [[], ENV, 'expected one handler file'],
    [['a', 'b'], ENV, 'expected one handler file'],
    [['a'], { ...ENV, REDIS_URL: '' }, 'expected REDIS_URL to be a Redis URL'],
    [
      ['a'],
      { ...ENV, VELVET_ROPE_NAME: undefined },
      'expected VELVET_ROPE_NAME to be string, got: undefined',
    ],
    [['a'], { ...ENV, VELVET_ROPE_DRAIN_MS: '1s' }, 'expected VELVET_ROPE_DRAIN_MS to be a whole number'],
  ])('refuses %j in %j', (args, env, message) => {
    expect(() => readEnvironment(args, env)).toThrow(message)
  })

  it('runs by itself, and says in one line why it cannot', async () => {
    const args = ['--import', 'tsx', 'workers/module.ts', join(folder, 'missing.js')]
    const ended = new Promise((resolve) => {
      execFile(process.execPath, args, { env: { ...process.env, ...ENV } }, (error, stdout, stderr) =>
        resolve({ code: error?.code, stdout, stderr }),
      )
    })
    const stderr = expect.stringMatching(/^velvet-rope: handler "[^\n]*": no such file\n$/)
    expect(await ended).toEqual({ code: 1, stdout: '', stderr })
  })

  it('loads a handler, and a CommonJS one too', async () => {
    const module = join(folder, 'handler.mjs')
    writeFileSync(module, 'export default (job) => job + 1')
    const common = join(folder, 'handler.cjs')
    writeFileSync(common, 'module.exports = (job) => job + 2')
    expect([typeof (await loadHandler(module)), typeof (await loadHandler(common))]).toEqual([
      'function',
      'function',
    ])
  })

  it('tells of failed jobs without their data, in bounded lines', async () => {
    let text = ''
    vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
      text += String(chunk)
      return true
    })
    const shaper = new Shaper('sms', { limits: { '*': '10, 100/s' } })
    logWorker(shaper, 'nowhere')
    shaper.work(() => {
      throw new Error(`\u001b[31m${'x'.repeat(500)}`)
    })
    await shaper.enqueue('a', 'payload', { id: 'order-7' })
    await shaper.close({ drainMs: 5_000 })
    vi.restoreAllMocks()
    expect(text).toMatch(/^job "order-7" failed in attempt 1: "\\u001b\[31mx+\.\.\."\n$/)
    expect(text.length).toBeLessThan(140)
  })

  it('tells an error that comes again and again only now and then', () => {
    const errors = new Repetition()
    expect([0, 1, 9, 10.5].map((at) => errors.isNew('away', at * 1e6))).toEqual([true, false, false, true])
    expect(errors.isNew('other', 11e6)).toBe(true)
  })

  it('shows where Redis is, and never its password', () => {
    expect(showRedisUrl('redis://u:secret@h:1/2')).toBe('h:1')
    expect(showRedisUrl('rediss://:secret@[::1]')).toBe('[::1]:6379')
    expect(showRedisUrl('unix:///run/redis.sock')).toBe('/run/redis.sock')
  })

  it('makes one line of what others wrote', () => {
    expect(oneLine(' a\r\nb\u202e\u001b[2Jc ')).toBe('a b [2Jc')
    expect(oneLine('x'.repeat(1_000))).toHaveLength(300)
  })
})
