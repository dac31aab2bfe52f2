import { describe, expect, test } from 'vitest'
import { FinalError, HandlerTimeoutError, Shaper } from '../../../src/index.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

function fail(): never {
  throw new Error('as planned')
}

describe('attempts', () => {
  test('are one by default; the job keeps the message of its error', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(fail)
    await stage.fill('k', 1)
    await stage.pass(1)
    expect(await stage.shaper.job('k1')).toMatchObject({
      state: 'failed',
      attempt: 1,
      attempts: 1,
      error: 'as planned',
      departedAt: 0,
      endedAt: 0,
    })
    await stage.conforms()
  })

  test('start again after the backoff, in a slot like any other', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 4, backoff: 700 } })
    const attempts: number[] = []
    stage.shaper.work(({ attempt }) => {
      attempts.push(attempt)
      if (attempt < 3) fail()
    })
    await stage.fill('k', 1)
    await stage.pass(100)
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'retrying', attempt: 1, error: 'as planned' })
    expect(await stage.shaper.inspect('k')).toMatchObject({
      retrying: 1,
      jobs: 0,
      waiting: 1,
      nextDepartureAt: 700,
    })
    await stage.pass(10_000)
    expect([attempts, stage.startsOf('k')]).toEqual([
      [1, 2, 3],
      [0, 700, 1_400],
    ])
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'completed', attempt: 3 })
    await stage.conforms()
  })

  test('are given up immediately by a handler that says that they would not help', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 4, backoff: 700 } })
    stage.shaper.work(() => {
      throw new FinalError('no such number')
    })
    await stage.fill('k', 1)
    await stage.pass(10_000)
    expect(await stage.shaper.job('k1')).toMatchObject({
      state: 'failed',
      attempt: 1,
      error: 'no such number',
    })
    expect(stage.startsOf('k')).toEqual([0])
    await stage.conforms()
  })

  test('of exponential backoff double their delay, up to the longest', async () => {
    const stage = new Stage('5, 100/s')
    stage.shaper.work(fail)
    const backoff = { type: 'exponential', delayMs: 100, maxDelayMs: 500, jitter: 0 } as const
    await stage.shaper.enqueue('k', 0, { attempts: 6, backoff })
    await stage.pass(10_000)
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, 100, 300, 700, 1_200, 1_700])
    await stage.conforms()
  })

  test.each([
    ['fixed', { type: 'fixed', delayMs: 300_000, jitter: 0 }],
    ['a number', 300_000],
    ['exponential', { type: 'exponential', delayMs: 300_000, jitter: 0 }],
  ] as const)('of a backoff longer than a minute, %s, wait that long', async (_, backoff) => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 2, backoff } })
    stage.shaper.work(fail)
    await stage.fill('k', 1)
    await stage.pass(1_000_000)
    expect(stage.startsOf('k')).toEqual([0, 300_000])
  })

  test('with jitter return within the delay, and not all together', async () => {
    const stage = new Stage('100, 1000/s', { jobDefaults: { attempts: 2 } })
    stage.shaper.work(fail)
    for (let n = 0; n < 50; n++) await stage.shaper.enqueue(`k${n}`, n)
    await stage.pass(5_000)
    const second = stage.starts.slice(50).map(([, ms]) => ms)
    expect(second).toHaveLength(50)
    expect(Math.min(...second)).toBeGreaterThanOrEqual(500)
    expect(Math.max(...second)).toBeLessThanOrEqual(1_000)
    expect(new Set(second).size).toBeGreaterThan(40)
  })

  test('that wait keep their place: new jobs are refused until they have departed', async () => {
    const stage = new Stage('1, 2/s', { jobDefaults: { attempts: 2, backoff: 2_000 } })
    stage.shaper.work((job) => (job.id === 'k1' ? fail() : undefined))
    await stage.fill('k', 1)
    await stage.pass(100)
    const refused = await stage.shaper.enqueue('k', 0, { id: 'k2' })
    expect(refused).toMatchObject({ accepted: false, reason: 'full', waiting: 1, retryAfterMs: 1_900 })
    await stage.pass(1_900)
    expect(await stage.shaper.enqueue('k', 0, { id: 'k2' })).toMatchObject({ accepted: true })
    await stage.pass(9_000)
    expect(stage.startsOf('k')).toEqual([0, 2_000, 2_500])
    await stage.conforms()
  })

  test('a retry that finds the line full again is never refused', async () => {
    const stage = new Stage('2, 2/s', { jobDefaults: { attempts: 2, backoff: 1 } })
    stage.shaper.work(async (job) => {
      await stage.sleep(100)
      if (job.id === 'k1') fail()
    })
    await stage.fill('k', 1)
    await stage.pass(50)
    await stage.fill('l', 0)
    for (const id of ['k2', 'k3']) await stage.shaper.enqueue('k', 0, { id })
    await stage.pass(100)
    expect(await stage.shaper.inspect('k')).toMatchObject({ state: 'full', waiting: 3, fill: 1.5 })
    await stage.pass(9_000)
    expect(stage.starts.map(([id]) => id)).toEqual(['k1', 'k1', 'k2', 'k3'])
    await stage.conforms()
  })
})

describe('a failing job', () => {
  test('cannot starve its bucket: it has at most every second slot while others wait', async () => {
    const stage = new Stage('100, 10/s')
    stage.shaper.work((job) => (job.id === 'bad' ? fail() : undefined))
    await stage.shaper.enqueue('k', 0, { id: 'bad', attempts: 1_000, backoff: 1 })
    for (let n = 1; n <= 20; n++) await stage.shaper.enqueue('k', 0, { id: `good${n}` })
    await stage.pass(4_100)
    const ids = stage.starts.map(([id]) => id)
    expect(ids.filter((id) => id !== 'bad')).toHaveLength(20)
    for (const [index, id] of ids.entries()) {
      if (index > 0 && index < 40 && id === 'bad') expect(ids[index + 1]).not.toBe('bad')
    }
    await stage.close()
    await stage.conforms()
  })

  test('many of them have no more than one would', async () => {
    const stage = new Stage('100, 10/s')
    stage.shaper.work((job) => (job.id.startsWith('bad') ? fail() : undefined))
    for (let n = 0; n < 10; n++) {
      await stage.shaper.enqueue('k', 0, { id: `bad${n}`, attempts: 1_000, backoff: 1 })
    }
    for (let n = 0; n < 10; n++) await stage.shaper.enqueue('k', 0, { id: `good${n}` })
    await stage.pass(4_100)
    expect(stage.startsOf('good')).toHaveLength(10)
    await stage.close()
    await stage.conforms()
  })

  test('fails by its own attempts also when another shaper that it used was closed', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 3, backoff: 1 } })
    const other = new Shaper('other', { limits: { '*': '1, 1/s' } })
    await other.close()
    stage.shaper.work(() => other.enqueue('k', 0))
    await stage.fill('k', 1)
    await stage.pass(5_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000])
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'failed', attempt: 3 })
  })
})

describe('timeoutMs', () => {
  test('fails an attempt that does not settle, aborts its signal, and frees the handler', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { timeoutMs: 800 } })
    const reasons: unknown[] = []
    stage.shaper.work(
      ({ signal }) => {
        signal.addEventListener('abort', () => void reasons.push(signal.reason))
        return neverSettles()
      },
      { concurrency: 1 },
    )
    await stage.fill('k', 2)
    await stage.pass(5_000)
    expect(stage.startsOf('k')).toEqual([0, 800])
    expect(stage.emitted).toEqual([
      ['failed', 'k1', 800],
      ['failed', 'k2', 1_600],
    ])
    expect(reasons).toHaveLength(2)
    expect(reasons[0]).toBeInstanceOf(HandlerTimeoutError)
    expect(reasons[0]).toMatchObject({ code: 'handler-timeout', timeoutMs: 800, message: /"k1".* 800 ms/ })
    expect(await stage.shaper.job('k1')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('800 ms'),
    })
    await stage.conforms()
  })

  test('each job has its own, and a settled one is left alone', async () => {
    const stage = new Stage('9, 100/s', { jobDefaults: { timeoutMs: 1_000 } })
    const aborted: string[] = []
    stage.shaper.work(({ id, data, signal }) => {
      signal.addEventListener('abort', () => void aborted.push(id))
      return data === 'hangs' ? neverSettles() : stage.sleep(300)
    })
    await stage.shaper.enqueue('k', 'hangs', { id: 'long', timeoutMs: 2_000 })
    await stage.shaper.enqueue('k', 'hangs', { id: 'short', timeoutMs: 100 })
    await stage.shaper.enqueue('k', 'ok', { id: 'ok' })
    await stage.shaper.enqueue('k', 'hangs', { id: 'usual' })
    await stage.pass(5_000)
    expect(stage.emitted).toEqual([
      ['failed', 'short', 110],
      ['completed', 'ok', 320],
      ['failed', 'usual', 1_030],
      ['failed', 'long', 2_000],
    ])
    expect(aborted).toEqual(['short', 'usual', 'long'])
    await stage.conforms()
  })

  test('a timed-out attempt is tried again, and what its handler does later is no more heard', async () => {
    const stage = new Stage('9, 2/s', { jobDefaults: { timeoutMs: 1_000, attempts: 2, backoff: 1 } })
    const results: unknown[] = []
    stage.shaper.on('completed', ({ result }) => void results.push(result))
    stage.shaper.work(async ({ attempt }) => {
      await stage.sleep(attempt === 1 ? 1_200 : 400)
      return attempt
    })
    await stage.fill('k', 1)
    await stage.pass(9_000)
    expect(results).toEqual([2])
    expect(await stage.shaper.job('k1')).toMatchObject({ state: 'completed', attempt: 2, result: 2 })
    await stage.conforms()
  })

  test('a signal that is first asked for after the abort is aborted', async () => {
    const stage = new Stage('9, 2/s', { jobDefaults: { timeoutMs: 100 } })
    let reason: unknown
    stage.shaper.work(async (job) => {
      await stage.sleep(200)
      reason = job.signal.reason
    })
    await stage.fill('k', 1)
    await stage.pass(1_000)
    expect(reason).toBeInstanceOf(HandlerTimeoutError)
  })
})

describe('a retry that backs off for long', () => {
  test('is not ahead of a new job, which is promised to depart immediately and does', async () => {
    const stage = new Stage('5, 1 per 10s', { jobDefaults: { attempts: 2, backoff: 3_600_000 } })
    const departed: string[] = []
    stage.shaper.on('departed', ({ id, at }) => void departed.push(`${id} at ${at / 1_000}`))
    stage.shaper.work(({ data }) => {
      if (data === 'fails') throw new Error('as planned')
    })
    await stage.shaper.enqueue('k', 'fails', { id: 'a' })
    await stage.pass(15_000)
    expect(await stage.shaper.enqueue('k', 0, { id: 'b', deadlineMs: 5_000 })).toMatchObject({
      accepted: true,
      position: 1,
      waitMs: 0,
    })
    expect(await stage.shaper.enqueue('k', 0, { id: 'c' })).toMatchObject({ position: 2, waitMs: 10_000 })
    expect(await stage.shaper.job('c')).toMatchObject({ position: 2 })
    await stage.pass(3_700_000)
    expect(departed).toEqual(['a at 0', 'b at 15', 'c at 25', 'a at 3600'])
  })
})
