import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { run } from '../unit/cli/run-program.ts'

beforeEach(() => {
  vi.stubEnv('REDIS_URL', redisAddress())
  vi.stubEnv('VELVET_ROPE_NAME', undefined)
})

it('buckets and jobs of a line in Redis are held, let go and cancelled, whichever shard they are in', async () => {
  const prefix = uniquePrefix()
  const shaper = new Shaper('sms', {
    limits: { '*': '9, 1/h' },
    connection: redisAddress(),
    prefix,
    shards: 4,
  })
  onTestFinished(() => shaper.close())
  await shaper.ready()
  const on = (...args: string[]) => run(...args, '--name', 'sms', '--prefix', prefix)
  for (const key of ['a', 'b', 'c']) {
    expect(await on('freeze', key, '2h')).toEqual({ code: 0, stdout: `frozen  ${key}  2h\n`, stderr: '' })
    expect(await shaper.inspect(key)).toMatchObject({ state: 'frozen' })
    expect(await on('unfreeze', key)).toMatchObject({ code: 0, stdout: `unfrozen  ${key}\n` })
    expect(await on('unfreeze', key)).toMatchObject({ code: 1, stderr: `"${key}" is not frozen\n` })
    expect(await on('pause', key)).toMatchObject({ code: 0 })
    expect(await shaper.inspect(key)).toMatchObject({ state: 'paused' })
    expect(await on('resume', key)).toMatchObject({ code: 0 })
    expect((await shaper.inspect(key))?.paused ?? false).toBe(false)
    await shaper.enqueue(key, 1, { id: `job-${key}` })
    expect(await on('cancel', `job-${key}`)).toEqual({
      code: 0,
      stdout: `cancelled  job-${key}\n`,
      stderr: '',
    })
    expect(await on('cancel', `job-${key}`)).toMatchObject({ code: 1 })
  }
})
