import { describe, expect, it } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { launch } from '../support/launch.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

/** A line of its own; as its producer sees it, and as flags of the command. */
function openLine(limit: string) {
  const prefix = uniquePrefix()
  const shaper = new Shaper('sms', { limits: { '*': limit }, connection: redisAddress(), prefix })
  const flags = ['--name', 'sms', '--prefix', prefix, '--limit', limit]
  const env = { REDIS_URL: redisAddress() }
  return {
    shaper,
    enqueue: (args: string[], input = '') => launch(['enqueue', ...args, ...flags], input, env).ended,
  }
}

describe('velvet-rope enqueue', () => {
  it('puts one job into the line, once for each id, and exits with 3 when it is full', async () => {
    const { shaper, enqueue } = openLine('1, 1/m')
    const job = ['+15551234', '{"text":"hello"}', '--id', 'order-7']
    expect(await enqueue(job)).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^accepted {2}order-7: position 1, departs /),
      stderr: '',
    })
    expect(await enqueue(job)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('repeated answer'),
    })
    expect(await enqueue(['+15551234', '1'])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^rejected {2}full: 1 of 1 waiting; retry in /),
    })
    expect(await shaper.job('order-7')).toMatchObject({ state: 'waiting', data: { text: 'hello' } })
    await shaper.close()
  })

  it('puts a line of input after the other into their lines', async () => {
    const { shaper, enqueue } = openLine('100, 1/m')
    const input = Array.from({ length: 1_200 }, (_, n) => `{"key":"k${n % 10}","data":${n}}\n`).join('')
    const { code, stdout } = await enqueue([], input)
    expect(code).toBe(3)
    expect(stdout).toMatch(/^accepted +1,000\nrejected +200\n {2}full +200\n/)
    expect(await shaper.inspect('k9')).toMatchObject({ waiting: 100 })
    await shaper.close()
  })

  it('comes back until all are accepted, if asked to', async () => {
    const { shaper, enqueue } = openLine('2, 50/s')
    const done: unknown[] = []
    shaper.work((job) => void done.push(job.data))
    const input = Array.from({ length: 20 }, (_, n) => `{"key":"a","data":${n}}\n`).join('')
    expect(await enqueue(['--wait'], input)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^accepted +20\n/),
    })
    await expect.poll(() => done.length).toBe(20)
    await shaper.close()
  })

  it('stops at a bad line, of whose batch nothing is accepted', async () => {
    const { shaper, enqueue } = openLine('100, 1/m')
    const { code, stdout, stderr } = await enqueue([], '{"key":"a","data":1}\n{"key":"a","data":}\n')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^nothing was enqueued\nvelvet-rope: stdin:2:19: expected JSON/)
    expect(await shaper.inspect('a')).toBeUndefined()
    await shaper.close()
  })

  it('reports in one line that Redis is not there', async () => {
    const flags = ['--redis', 'redis://:secret@127.0.0.1:1', '--name', 'sms', '--limit', '1, 1/s']
    expect(await launch(['enqueue', 'a', '1', ...flags]).ended).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^velvet-rope: Redis is unavailable[^\n]*\n$/),
    })
  })
})
