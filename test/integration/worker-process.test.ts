import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { built } from '../support/built.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-worker-'))
afterAll(() => rmSync(folder, { recursive: true }))
const good = join(folder, 'good.mjs')
writeFileSync(good, 'export default () => 1')

it.each([
  [[join(folder, 'missing.js')], /^velvet-rope: handler "[^\n]*": no such file\n$/],
  [[], /^velvet-rope: expected one handler file[^\n]*\n$/],
  [['a.js', 'b.js'], /^velvet-rope: expected one handler file[^\n]*\n$/],
  [
    [good],
    /^velvet-rope: expected --redis, VELVET_ROPE_REDIS, REDIS_URL or redis in the configuration[^\n]*\n$/,
  ],
])('a worker process runs by itself, or reports in one line why it cannot: %j', async (files, message) => {
  const env = { ...process.env, REDIS_URL: '' }
  const args = [built('workers/module.ts'), ...files]
  const ended = new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr }),
    )
  })
  expect(await ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
})
