import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { run } from './run-program.ts'

const LINE = ['--name', 'sms', '--limit', '10, 1/s']
const REDIS = ['--redis', 'redis://:secret@127.0.0.1:1']

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-work-'))
afterAll(() => rmSync(folder, { recursive: true }))

beforeEach(() => {
  vi.stubEnv('REDIS_URL', undefined)
  vi.stubEnv('VELVET_ROPE_NAME', undefined)
})

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const good = file('good.mjs', 'export default (job) => job.data')

describe('work refuses', () => {
  it.each([
    ['a missing file', join(folder, 'missing.mjs'), 'no such file'],
    ['a folder', folder, 'it is not a file'],
    [
      'a file without a default export',
      file('named.mjs', 'export const handle = 1'),
      'got: undefined (it exports "handle")',
    ],
    ['a default export that is no function', file('three.mjs', 'export default 3'), 'got: 3'],
    [
      'a file that throws while it is loaded',
      file('throws.mjs', "throw new Error('no\\n\\u001b[31mdatabase')"),
      'it threw while it was loaded: no [31mdatabase\n',
    ],
    [
      'an ES module whose name or folder makes it CommonJS',
      // The loader of the tests accepts `export` here, which Node answers in these words.
      file('module.js', 'throw new SyntaxError("Unexpected token \'export\'")'),
      'Unexpected token \'export\'; it looks like an ES module: name it .mjs, or set "type": "module" in its package.json\n',
    ],
  ])('%s', async (_, handler, message) => {
    const { code, stdout, stderr } = await run('work', handler, ...LINE, ...REDIS)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^velvet-rope: handler "/)
  })

  it.each([
    [[good, ...LINE], 'expected --redis, VELVET_ROPE_REDIS, REDIS_URL or redis in the configuration'],
    [[...LINE, ...REDIS], 'expected either a handler file, such as ./handler.js, or --forward, got: neither'],
    [[good, '--forward', ...LINE, ...REDIS], 'got: both'],
    [['--forward', ...LINE, ...REDIS], 'expected --allow, VELVET_ROPE_ALLOW or forward in the configuration'],
    [['--forward', ...LINE, ...REDIS, '--allow', 'example.com'], '--allow'],
    [['--forward', '--config', join(folder, 'none.yaml')], 'none.yaml: cannot be read: no such file'],
    [[good, ...LINE, ...REDIS, '--log-level', 'loud'], "'loud' is invalid"],
    [[good, ...LINE, '--redis', 'redis://u:secret@h/not-a-number'], 'the database of the URL'],
    [[good, ...LINE, ...REDIS, '--concurrency', '0'], 'Expected a whole number from 1'],
    [[good, ...LINE, ...REDIS, '--lease', '10'], 'Expected a whole number from 500 to 600000'],
    [[good, ...LINE, ...REDIS, '--drain-ms', '-1'], 'Expected a whole number from 0'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await run('work', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('secret')
  })

  it('shows an example in its help', async () => {
    expect((await run('work', '--help')).stdout).toContain('velvet-rope work ./handler.mjs --redis redis://')
  })
})
