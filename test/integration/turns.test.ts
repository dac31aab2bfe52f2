import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Shaper } from '../../src/index.ts'
import { built } from '../support/built.ts'
import { beforeTimer, pass } from '../support/patience.ts'
import { redisAddress, startRedis } from '../support/redis-server.ts'
import { TurnsStage } from './turns-stage.ts'

/** Resolves when the event came so often. */
function heard(shaper: Shaper, name: 'cancelled' | 'departed' | 'completed', count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    shaper.on(name, () => {
      if (--left === 0) resolve()
    })
  })
}

describe('acquire', () => {
  test('callers of two processes and the jobs of a third share one line: one order, one rate', async () => {
    const stage = new TurnsStage('50, 50/s')
    const [one, two, three] = [await stage.open(), await stage.open(), await stage.open()]
    three.work(({ id, fence, departedAt }) => void stage.departed.push([id, fence, departedAt]))
    await three.pause('k')
    const names = Array.from({ length: 30 }, (_, n) => `${['one', 'two', 'job'][n % 3]}-${n}`)
    const turns = []
    const done = heard(three, 'completed', 10)
    for (const [n, name] of names.entries()) {
      if (n % 3 === 2) await three.enqueue('k', 1, { id: name })
      else turns.push((await stage.caller([one, two][n % 3]!, name)).turn)
    }
    await three.resume('k')
    await Promise.all([...turns, done])
    expect(stage.names()).toEqual(names)
    expect(Math.min(...stage.gaps())).toBeGreaterThanOrEqual(15 - 0.001)
    await stage.conforms()
    expect(stage.errors).toEqual([])
  })

  test('hundreds of callers of two processes over many keys all get their turns, at the rate of each at most', async () => {
    const stage = new TurnsStage('100, 40/s')
    const shapers = [await stage.open({ shards: 3 }), await stage.open({ shards: 3 })]
    const keys = Array.from({ length: 10 }, (_, n) => `tenant ${n} 🪢`)
    const turns = keys.flatMap((key) => Array.from({ length: 30 }, (_, n) => shapers[n % 2]!.acquire(key)))
    const all = await Promise.all(turns)
    expect(new Set(all.map(({ key, fence }) => `${key} ${fence}`)).size).toBe(300)
    await stage.conforms()
    expect(stage.errors).toEqual([])
  })

  test('one turn after the other needs room for one, however soon the caller asks again', async () => {
    const stage = new TurnsStage('1, 50/s')
    const one = await stage.open()
    for (let n = 0; n < 20; n++) await one.acquire('k')
    await stage.conforms()
  })

  test('an abort gives the place to the turns behind', async () => {
    const stage = new TurnsStage('9, 2/s')
    const [one, two] = [await stage.open(), await stage.open()]
    await one.acquire('k')
    const abort = new AbortController()
    const aborted = await stage.caller(one, 'aborted', { signal: abort.signal })
    const behind = await stage.caller(two, 'behind')
    const cancelled = heard(one, 'cancelled', 1)
    abort.abort(new Error('enough'))
    await expect(aborted.turn).rejects.toThrow('enough')
    await cancelled
    expect(await two.job(behind.id)).toMatchObject({ position: 1 })
    await behind.turn
    await stage.conforms()
  })

  test('a turn that does not come in time is given up, and the turns behind get theirs', async () => {
    const stage = new TurnsStage('9, 1 per 3s')
    const [one, two] = [await stage.open(), await stage.open()]
    await one.acquire('k')
    const patient = await stage.caller(one, 'patient', { timeoutMs: 3_300 })
    const behind = await stage.caller(two, 'behind')
    await two.freeze('k', 4_000)
    await expect(patient.turn).rejects.toMatchObject({ code: 'turn-timeout', key: 'k', timeoutMs: 3_300 })
    await behind.turn
    await stage.conforms()
  })

  test('another process may cancel a turn that waits', async () => {
    const stage = new TurnsStage('9, 10/s')
    const [one, two] = [await stage.open(), await stage.open()]
    await two.pause('k')
    const { turn, id } = await stage.caller(one, 'cancelled')
    expect(await two.cancel(id)).toBe(true)
    await expect(turn).rejects.toMatchObject({ code: 'turn-cancelled', id })
    expect(await two.cancel(id)).toBe(false)
    await stage.conforms()
  })

  test('jobs that no worker fetches delay no caller of another key', async () => {
    const stage = new TurnsStage('9, 1/h')
    const one = await stage.open()
    one.schedule()
    for (let from = 0; from < 3_000; from += 500) {
      await one.enqueueMany(Array.from({ length: 500 }, (_, n) => ({ key: `jobs${from + n}`, data: 1 })))
    }
    // They come back when their leases of two seconds end, so how many are handed over depends on how fast that is done.
    await expect.poll(async () => (await one.audit()).handed).toBeGreaterThan(0)
    for (let n = 0; n < 20; n++) await one.acquire(`callers${n}`)
    await expect.poll(async () => (await one.audit()).handed).toBeGreaterThan(0)
    expect(await one.audit()).toMatchObject({ ended: 20, running: 0 })
  })
})

/**
 * Tries until there is a turn. The news that the one before departed late, which moves the next, may come after the answer, but not twice;
 * and a turn that is not taken within its while expires.
 */
async function turnOf(shaper: Shaper, cost: number) {
  let expired = 0
  const count = () => void expired++
  shaper.on('expired', count)
  for (let refusals = 0; ; refusals++) {
    const taken = await shaper.tryAcquire('k', { cost })
    if (taken.accepted) {
      shaper.off('expired', count)
      return taken
    }
    expect(refusals).toBeLessThanOrEqual(expired)
    await pass(taken.retryAfterMs)
  }
}

describe('tryAcquire', () => {
  test('takes a turn that can be had, or returns when there is one again, and never waits', async () => {
    const stage = new TurnsStage('9, 2/s')
    const [one, two] = [await stage.open(), await stage.open()]
    // Everything that the first turn needs is opened with it.
    await one.acquire('warm')
    await two.acquire('warm')
    const first = await turnOf(one, 2)
    expect(first).toMatchObject({ accepted: true, key: 'k', cost: 2 })
    const second = await two.tryAcquire('k')
    expect(second).toMatchObject({ accepted: false, reason: 'not-now', key: 'k' })
    if (second.accepted) return
    expect(second.retryAfterMs).toBeGreaterThan(0)
    expect(second.retryAfterMs).toBeLessThanOrEqual(1_000)
    await pass(second.retryAfterMs)
    await turnOf(two, 1)
    await stage.conforms()
    expect(stage.errors).toEqual([])
  })
})

describe('wrap', () => {
  test('calls at the rate of the key, over both processes, each with its arguments and its value', async () => {
    const stage = new TurnsStage('99, 20/s')
    const shapers = [await stage.open(), await stage.open()]
    const calls: number[] = []
    const wrapped = shapers.map((shaper) =>
      shaper.wrap(
        async (tenant: string, n: number) => {
          calls.push(performance.now())
          return `${tenant} ${n}`
        },
        { key: (tenant) => `api/${tenant}` },
      ),
    )
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => wrapped[n % 2]!('acme', n)))
    expect(answers).toEqual(Array.from({ length: 12 }, (_, n) => `acme ${n}`))
    expect(calls.at(-1)! - calls[0]!).toBeGreaterThanOrEqual(11 * 50 - 5)
    await stage.conforms()
  })
})

describe('what dies', () => {
  test('a process that waits: its places are free when its lease has ended', async () => {
    const stage = new TurnsStage('3, 10/s')
    const shaper = await stage.open()
    shaper.schedule()
    await shaper.pause('k')
    const file = built('test/support/children/acquires.ts')
    const child = spawn(process.execPath, [file, redisAddress(), stage.prefix, 'k', '3'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    await expect(shaper.acquire('k')).rejects.toMatchObject({ code: 'turn-refused', reason: 'paused' })
    // Its places outlive their lease: it says so.
    await new Promise((resolve) => setTimeout(resolve, 6_000))
    expect(await shaper.inspect('k')).toMatchObject({ waiting: 3 })
    const gone = heard(shaper, 'cancelled', 3)
    child.kill('SIGKILL')
    await gone
    expect(await shaper.inspect('k')).toMatchObject({ waiting: 0 })
    await shaper.resume('k')
    await shaper.acquire('k')
    await expect.poll(async () => (await shaper.audit()).ended).toBe(4)
  })

  test('a Redis with its file: callers that wait get their turns afterwards, in order, none early', async () => {
    await using redis = await startRedis({ port: 'free', appendonly: 'yes', appendfsync: 'always' })
    const stage = new TurnsStage('20, 5/s', redis.url)
    const [one, two] = [await stage.open(), await stage.open()]
    const first = await stage.caller(one, 'first')
    const names = Array.from({ length: 8 }, (_, n) => `${n}`)
    const turns = []
    for (const [n, name] of names.entries()) turns.push((await stage.caller([one, two][n % 2]!, name)).turn)
    await first.turn
    await redis.kill()
    await redis.restart()
    await Promise.all(turns)
    expect(stage.names()).toEqual(['first', ...names])
    expect(Math.min(...stage.gaps())).toBeGreaterThanOrEqual(195 - 0.001)
    await stage.conforms(10_000_000)
  })
})

describe('a Redis that does not answer', () => {
  test('keeps no caller that gives up, or has no more time, and nothing is left of them', async () => {
    await using redis = await startRedis({ port: 'free' })
    const stage = new TurnsStage('9, 10/s', redis.url)
    const shaper = await stage.open()
    await shaper.acquire('k')
    redis.pause()
    const abort = new AbortController()
    const aborted = shaper.acquire('k', { signal: abort.signal })
    const refused = expect(aborted).rejects.toThrow('enough')
    const late = expect(shaper.acquire('k', { timeoutMs: 300 })).rejects.toMatchObject({
      code: 'turn-timeout',
    })
    setImmediate(() => abort.abort(new Error('enough')))
    await beforeTimer(1_000, refused)
    await beforeTimer(1_400, late)
    redis.resume()
    await expect.poll(async () => (await shaper.audit()).waiting).toBe(0)
    await expect.poll(async () => (await shaper.tryAcquire('k')).accepted).toBe(true)
  })
})

describe('close', () => {
  test('rejects callers that wait, and leaves no place behind; others go on', async () => {
    const stage = new TurnsStage('9, 10/s')
    const [one, two] = [await stage.open(), await stage.open()]
    await two.pause('k')
    const [waits, behind] = [await stage.caller(one, 'waits'), await stage.caller(two, 'behind')]
    await one.close()
    await expect(waits.turn).rejects.toMatchObject({ code: 'closed' })
    expect(await two.inspect('k')).toMatchObject({ waiting: 1 })
    await two.resume('k')
    await behind.turn
    await stage.conforms()
    expect(stage.errors).toEqual([])
  })

  test('with drainMs lets turns come, and no longer than that, whatever else runs', async () => {
    const stage = new TurnsStage('9, 10/s')
    const one = await stage.open()
    const started = heard(one, 'departed', 1)
    one.work(
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined))),
    )
    await one.enqueue('jobs', 1)
    await started
    await one.pause('never')
    const [comes, never] = [await stage.caller(one, 'comes'), await stage.caller(one, 'never', {}, 'never')]
    await one.close({ drainMs: 1_500 })
    expect(await comes.turn).toMatchObject({ accepted: true })
    await expect(never.turn).rejects.toMatchObject({ code: 'closed' })
  })

  test('ends while Redis is away, of an elected scheduler and of a follower, and rejects the turns that wait', async () => {
    await using redis = await startRedis({ port: 'free' })
    const stage = new TurnsStage('9, 1/h', redis.url)
    const [one, two] = [await stage.open(), await stage.open()]
    await one.acquire('k')
    const waiting = [await stage.caller(one, 'one'), await stage.caller(two, 'two')]
    await redis.kill()
    await Promise.all([one.close(), two.close()])
    for (const { turn } of waiting) await expect(turn).rejects.toMatchObject({ code: 'closed' })
  })

  test('at the same moment as the first caller: its call rejects, and no connection is left', async () => {
    await using redis = await startRedis({ port: 'free' })
    const look = new Redis(redis.url)
    onTestFinished(() => look.disconnect())
    const stage = new TurnsStage('9, 10/s', redis.url)
    const clients = async () =>
      String(await look.client('LIST'))
        .trim()
        .split('\n').length
    for (const isFirst of [true, false]) {
      const shaper = await stage.open()
      if (!isFirst) await shaper.acquire('k')
      const turn = shaper.acquire('k')
      const refused = expect(turn).rejects.toMatchObject({ code: 'closed' })
      await shaper.close()
      await refused
      await expect.poll(clients).toBe(1)
    }
    expect(stage.errors).toEqual([])
  })
})
