import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { showRedisUrl } from '../../../src/cli/redis-url.ts'
import { loadHandler } from '../../../workers/handler-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-worker-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('a worker process', () => {
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

  it('shows where Redis is, and never its password', () => {
    expect(showRedisUrl('redis://u:secret@h:1/2')).toBe('h:1')
    expect(showRedisUrl('rediss://:secret@[::1]')).toBe('[::1]:6379')
    expect(showRedisUrl('unix:///run/redis.sock')).toBe('/run/redis.sock')
  })
})
