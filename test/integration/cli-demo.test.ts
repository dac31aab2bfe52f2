import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { faultsIn } from '../support/demo-laws.ts'
import { launch } from '../support/launch.ts'
import { startRedis } from '../support/redis-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-cli-demo-'))
/** A Redis of its own, to see that nothing is left in it. */
let url: string
let redis: Redis
beforeAll(async () => {
  ;({ url } = await startRedis())
  redis = new Redis(url)
  await redis.set('foreign key', 'stays')
})
afterAll(async () => {
  await redis.quit()
  rmSync(folder, { recursive: true })
})

it('the demo on Redis breaks no law, and leaves nothing behind', async () => {
  const svg = join(folder, 'demo.svg')
  const { code, stdout, stderr } = await launch(['demo', '--seconds', '9', '--svg', svg, '--redis', url])
    .ended
  expect(stderr).toBe('')
  expect(faultsIn(stdout)).toEqual([])
  expect(code).toBe(/^ok: /m.test(stdout) ? 0 : 1)
  expect(stdout).toMatch(/^Of these, \d were enqueued again after that time, and accepted\.$/m)
  expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
  expect(await redis.keys('*')).toEqual(['foreign key'])
})

it('the demo leaves nothing behind when it is stopped half way', async () => {
  const demo = launch(['demo', '--svg', join(folder, 'stopped.svg'), '--redis', url])
  await demo.said('with velvet-rope')
  await expect.poll(() => redis.keys('{vr-demo-*')).not.toEqual([])
  demo.signal('SIGTERM')
  await demo.ended
  await expect.poll(() => redis.keys('*')).toEqual(['foreign key'])
})

it('the demo reports in one line that Redis is not there', async () => {
  expect(await launch(['demo', '--redis', 'redis://:secret@127.0.0.1:1']).ended).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^velvet-rope: Redis is unavailable[^\n]*\n$/),
  })
})

it('the demo runs as a program, in a pipe, in plain lines', async () => {
  const svg = join(folder, 'plain.svg')
  const { code, stdout, stderr } = await launch(['demo', '--svg', svg]).ended
  expect({ code, stderr }).toEqual({ code: /^ok: /m.test(stdout) ? 0 : 1, stderr: '' })
  expect(faultsIn(stdout)).toEqual([])
  expect(stdout).not.toContain('\u001b')
  expect(stdout).toMatch(/^without velvet-rope\n[\s\S]*^with velvet-rope\n[\s\S]*^429s .*^(ok|broken): /ms)
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(`picture: ${svg}`)
  expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
})
