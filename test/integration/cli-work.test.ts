import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { launch } from '../support/launch.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { logOf } from './service/running.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-cli-work-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Prints what it gets, and waits, fails or goes on as ordered. */
const handler = join(folder, 'handler.mjs')
writeFileSync(
  handler,
  `import { setTimeout as sleep } from 'node:timers/promises'
  // As a pool of connections would.
  setInterval(() => {}, 60_000)
  export default async ({ id, data }) => {
    console.log('started ' + id)
    if (data.fails) throw new Error(data.fails)
    await sleep(data.takesMs ?? 0)
    console.log('done ' + id)
  }`,
)

/** A line of its own; as its producer sees it, and as flags of the command. */
function openLine(limit = '20, 50/s') {
  const prefix = uniquePrefix()
  const shaper = new Shaper('sms', { limits: { '*': limit }, connection: redisAddress(), prefix })
  const flags = ['--redis', redisAddress(), '--name', 'sms', '--prefix', prefix, '--limit', limit]
  return { shaper, work: (...more: string[]) => launch(['work', handler, ...flags, ...more]) }
}

describe('velvet-rope work', () => {
  it('runs jobs at the rate, reports failures, and ends with 0 after a signal', async () => {
    const { shaper, work } = openLine()
    await shaper.enqueue('a', {}, { id: 'first' })
    await shaper.enqueue('a', { fails: 'no\nluck' }, { id: 'second' })
    const worker = work()
    await worker.saidLike(/"id":"second".*"message":"attempt failed"/)
    await worker.said('done first')
    worker.signal('SIGTERM')
    const { code, stdout, stderr } = await worker.ended
    expect(code).toBe(0)
    expect(stdout).toBe('started first\ndone first\nstarted second\n')
    const log = logOf(stderr)
    const messages = log.map(({ message }) => message)
    // The clock of Redis is read before `connected` is logged, so that the two may change places.
    expect(messages.slice(0, 2).sort()).toEqual(['connected', 'working'])
    expect(messages.slice(2)).toEqual(['attempt failed', expect.stringMatching(/^shutting down/), 'ended'])
    const [connected, working, failed] = ['connected', 'working', 'attempt failed'].map((wanted) =>
      log.find(({ message }) => message === wanted),
    )
    expect(connected).toMatchObject({
      redis: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      durability: expect.stringMatching(/^(none|everysec|always)$/),
    })
    expect(working).toMatchObject({ shaper: 'sms', backend: 'redis' })
    expect(failed).toMatchObject({ level: 'warn', id: 'second', attempt: 1, isLast: true })
    expect(failed).toHaveProperty('error.message', expect.stringContaining('luck'))
    await shaper.close()
  })

  it('lets a handler end that runs, and leaves the rest in the line', async () => {
    const { shaper, work } = openLine('20, 1/m')
    await shaper.enqueue('a', { takesMs: 1_000 }, { id: 'long' })
    await shaper.enqueue('a', {}, { id: 'next' })
    const worker = work()
    await worker.said('started long')
    worker.signal('SIGINT')
    const { code, stdout } = await worker.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'started long\ndone long\n' })
    expect(await shaper.job('long')).toMatchObject({ state: 'completed' })
    expect(await shaper.job('next')).toMatchObject({ state: 'waiting' })
    await shaper.close()
  })

  it('ends immediately at the second signal', async () => {
    const { shaper, work } = openLine()
    await shaper.enqueue('a', { takesMs: 60_000 }, { id: 'long' })
    const worker = work()
    await worker.said('started long')
    worker.signal('SIGTERM')
    await worker.said('shutting down')
    worker.signal('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 143 })
    await shaper.close()
  })

  it('gives up on handlers after --drain-ms', async () => {
    const { shaper, work } = openLine()
    await shaper.enqueue('a', { takesMs: 60_000 }, { id: 'long' })
    const worker = work('--drain-ms', '100')
    await worker.said('started long')
    worker.signal('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stdout: 'started long\n' })
    await shaper.close()
  })

  it('reports in one line that Redis is not there', async () => {
    const flags = ['--redis', 'redis://:secret@127.0.0.1:1', '--name', 'sms', '--limit', '1, 1/s']
    const { code, stdout, stderr } = await launch(['work', handler, ...flags]).ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^velvet-rope: Redis is unavailable/)
    expect(stderr).not.toMatch(/secret| {4}at /)
  })
})
