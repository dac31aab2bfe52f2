import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openService, openStranger, SECRET, tokenFor } from './open-service.ts'
import { run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN']) vi.stubEnv(name, undefined)
})

const KEY = 'stripe/\u202e42'
const SHOWN = 'stripe/\\u{202e}42'

describe('a bucket of a service', () => {
  it('is frozen and unfrozen', async () => {
    const { shaper, url } = await openService({ '*': '9, 1/h' })
    expect(await run('freeze', KEY, '1h 30m', '--url', url)).toEqual({
      code: 0,
      stdout: `frozen  ${SHOWN}  90m\n`,
      stderr: '',
    })
    expect(await shaper.inspect(KEY)).toMatchObject({ state: 'frozen' })
    expect(await run('unfreeze', KEY, '--url', url)).toEqual({
      code: 0,
      stdout: `unfrozen  ${SHOWN}\n`,
      stderr: '',
    })
    expect(await shaper.inspect(KEY)).toBeUndefined()
    expect(await run('unfreeze', 'k', '--url', url)).toEqual({
      code: 1,
      stdout: '',
      stderr: '"k" is not frozen\n',
    })
  })

  it('is paused and resumed', async () => {
    const { shaper, url } = await openService({ '*': '9, 1/h' })
    expect(await run('pause', KEY, '--url', url)).toEqual({
      code: 0,
      stdout: `paused  ${SHOWN}\n`,
      stderr: '',
    })
    expect(await shaper.inspect(KEY)).toMatchObject({ paused: true })
    expect(await run('resume', KEY, '--url', url)).toEqual({
      code: 0,
      stdout: `resumed  ${SHOWN}\n`,
      stderr: '',
    })
    expect(await shaper.inspect(KEY)).toBeUndefined()
  })

  it('answers in JSON', async () => {
    const { url } = await openService({ '*': '9, 1/h' })
    const asked = async (...args: string[]) => {
      const { code, stdout } = await run(...args, '--url', url, '--json')
      return { code, ...JSON.parse(stdout) }
    }
    expect(await asked('freeze', 'k', '250ms')).toEqual({ code: 0, key: 'k', forMs: 250 })
    expect(await asked('unfreeze', 'k')).toEqual({ code: 0, key: 'k', wasFrozen: true })
    expect(await asked('unfreeze', 'k')).toEqual({ code: 1, key: 'k', wasFrozen: false })
    expect(await asked('pause', 'k')).toEqual({ code: 0, key: 'k', paused: true })
    expect(await asked('resume', 'k')).toEqual({ code: 0, key: 'k', paused: false })
  })

  it.each([
    [['freeze', 'k', '5'], 'expected a duration'],
    [['freeze', 'k', '0s'], 'expected a duration above 0'],
    [['freeze', 'k'], "missing required argument 'duration'"],
    [['unfreeze', ''], 'key'],
    [['pause', '..'], 'which no URL can name'],
  ])('is not asked for %j', async (args, message) => {
    const { asked, url } = await openStranger((response) => response.end('{}'))
    expect(await run(...args, '--url', url)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
    expect(asked).toEqual([])
  })

  it('needs a limit, and a token that may', async () => {
    const { url } = await openService({ a: '9, 1/h' })
    expect(await run('freeze', 'k', '1m', '--url', url)).toMatchObject({ code: 2, stdout: '' })
    const guarded = await openService({ '*': '9, 1/h' }, [tokenFor('read')])
    expect(await run('pause', 'k', '--url', guarded.url, '--token', SECRET)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the service answered 403'),
    })
  })

  it('does not take the page of another server for an answer', async () => {
    const { url } = await openStranger((response) => response.end('<html>here'))
    expect(await run('pause', 'k', '--url', url)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('expected an answer without content'),
    })
  })
})

describe('a job of a service', () => {
  it('is cancelled while it waits', async () => {
    const { shaper, url } = await openService({ '*': '9, 1/h' })
    await shaper.enqueue('k', 1, { id: 'order-42' })
    expect(await run('cancel', 'order-42', '--url', url)).toEqual({
      code: 0,
      stdout: 'cancelled  order-42\n',
      stderr: '',
    })
    expect(await shaper.job('order-42')).toMatchObject({ state: 'cancelled' })
  })

  it('is not cancelled when it has ended or is unknown: exit 1', async () => {
    const { shaper, url } = await openService({ '*': '9, 1/h' })
    await shaper.enqueue('k', 1, { id: 'done' })
    await shaper.cancel('done')
    for (const id of ['done', 'unknown']) {
      expect(await run('cancel', id, '--url', url)).toEqual({
        code: 1,
        stdout: '',
        stderr: `job ${id} is not waiting: it is unknown, has departed or has ended\n`,
      })
    }
    const { code, stdout } = await run('cancel', 'done', '--url', url, '--json')
    expect([code, JSON.parse(stdout)]).toEqual([1, { id: 'done', cancelled: false }])
  })

  it('is settled once while it runs, and else not: exit 1', async () => {
    const { shaper, url } = await openService({ '*': '9, 1/s, 1000 tokens/minute 400 each' })
    const started = new Promise<void>((resolve) => {
      shaper.work(() => {
        resolve()
        return new Promise(() => undefined)
      })
    })
    await shaper.enqueue('k', 1, { id: 'order-42' })
    await started
    const settle = (...more: string[]) => run('settle', 'order-42', '--url', url, ...more)
    expect(await settle('--cost-of', 'tokens=1', '--attempt', '2')).toMatchObject({ code: 1, stdout: '' })
    expect(await settle('--cost-of', 'tokens=1', '--fence', '2')).toMatchObject({ code: 1, stdout: '' })
    expect(await settle('--cost-of', 'tokens=1', '--fence', '0')).toMatchObject({ code: 2, stdout: '' })
    const first = await settle('--cost-of', 'tokens=812', '--fence', '1')
    expect(first).toEqual({ code: 0, stdout: 'settled  order-42\n', stderr: '' })
    expect((await shaper.inspect('k'))!.quotas).toMatchObject([{ used: 812 }])
    const { code, stdout } = await settle('--cost-of', 'tokens=1', '--json')
    expect([code, JSON.parse(stdout)]).toEqual([1, { id: 'order-42', settled: false }])
    const unknown = await run('settle', 'nothing', '--url', url, '--cost-of', 'tokens=1')
    expect(unknown).toMatchObject({ code: 1, stdout: '' })
    expect(await settle('--cost-of', 'tokens=1e21')).toMatchObject({ code: 2, stdout: '' })
    expect(await settle()).toMatchObject({ code: 2, stdout: '' })
    await shaper.close({ drainMs: 0 })
  })

  it('must have an id that can be one', async () => {
    const { asked, url } = await openStranger((response) => response.end('{}'))
    expect(await run('cancel', 'a/b', '--url', url)).toMatchObject({ code: 2, stdout: '' })
    expect(asked).toEqual([])
  })
})
