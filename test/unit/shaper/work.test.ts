import { describe, expect, test } from 'vitest'
import { ShaperClosedError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

describe('a handler', () => {
  test('gets the job with its numbers', async () => {
    const stage = new Stage('5, 2/s')
    const seen: unknown[] = []
    stage.shaper.work(({ signal, ...job }) => void seen.push({ ...job, aborted: signal.aborted }))
    await stage.fill('k', 2)
    await stage.shaper.enqueue('k', { text: 'hello' }, { id: 'costly', cost: 2 })
    await stage.pass(5_000)
    expect(seen[2]).toEqual({
      id: 'costly',
      key: 'k',
      data: { text: 'hello' },
      cost: 2,
      attempt: 1,
      crashes: 0,
      fence: 3,
      admittedAt: 0,
      departedAt: 1_000,
      waitedMs: 1_000,
      aborted: false,
    })
  })

  test('gets the trace of the request that asked, alone or with others; most have none', async () => {
    const stage = new Stage('9, 2/s')
    const [one, other] = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`)
    const seen: unknown[] = []
    stage.shaper.work(({ id, traceparent }) => void seen.push([id, traceparent]))
    await stage.shaper.enqueue('k', 0, { id: 'x', traceparent: one })
    await stage.shaper.enqueueMany([
      { key: 'k', data: 0, id: 'y' },
      { key: 'k', data: 0, id: 'z', traceparent: other },
    ])
    await stage.pass(5_000)
    expect(seen).toEqual([
      ['x', one],
      ['y', undefined],
      ['z', other],
    ])
  })

  test('starts in the order of admission, whatever the costs', async () => {
    const stage = new Stage('100, 10/s')
    stage.shaper.work(() => stage.sleep(730))
    for (let n = 0; n < 30; n++) await stage.shaper.enqueue('k', n, { id: `k${n}`, cost: 1 + (n % 4) })
    await stage.pass(60_000)
    expect(stage.starts.map(([id]) => id)).toEqual(Array.from({ length: 30 }, (_, n) => `k${n}`))
    await stage.conforms({ minUtilisation: 0.999 })
  })

  test('keeps what it resolves to, as JSON keeps it', async () => {
    const stage = new Stage('9, 2/s')
    const results: unknown[] = [{ a: 1, b: undefined }, undefined, null, new Date(0), [1], 'text', () => 0]
    stage.shaper.work(async (job) => results[job.data as number])
    await stage.fill('k', results.length)
    await stage.pass(9_000)
    const kept = await Promise.all(results.map((_, n) => stage.shaper.job(`k${n + 1}`)))
    expect(kept.every((job) => job!.state === 'completed')).toBe(true)
    expect(kept.map((job) => job!.result)).toEqual([
      { a: 1 },
      undefined,
      null,
      '1970-01-01T00:00:00.000Z',
      [1],
      'text',
      undefined,
    ])
  })

  test('whose result is not JSON has completed all the same, and the error is reported', async () => {
    const stage = new Stage('5, 2/s')
    const errors: Error[] = []
    stage.shaper.on('error', (error) => void errors.push(error))
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const results = [1n, circular, { toJSON: () => Promise.reject }, { toJSON: throwNothing }]
    stage.shaper.work((job) => results[job.data as number])
    await stage.fill('k', 4)
    await stage.pass(5_000)
    expect(await stage.shaper.audit()).toMatchObject({ admitted: 4, ended: 4 })
    expect(errors).toHaveLength(3)
    expect(errors.every((error) => error instanceof Error)).toBe(true)
    await stage.conforms()
  })
})

function throwNothing(): never {
  throw Object.create(null)
}

describe('concurrency', () => {
  test('bounds the handlers that run concurrently, and the first free one takes the next slot', async () => {
    const stage = new Stage('20, 10/s')
    let [running, most] = [0, 0]
    const worker = stage.shaper.work(
      async () => {
        most = Math.max(most, ++running)
        expect(worker.running).toBe(running)
        await stage.sleep(1_000)
        running--
      },
      { concurrency: 2 },
    )
    await stage.fill('k', 6)
    await stage.pass(20_000)
    expect([most, worker.concurrency, worker.running]).toEqual([2, 2, 0])
    expect(stage.startsOf('k')).toEqual([0, 100, 1_000, 1_100, 2_000, 2_100])
    await stage.conforms({ concurrency: 2, minUtilisation: 0.999 })
  })

  test('when handlers are scarce, buckets take turns by the time of their slots', async () => {
    const stage = new Stage({ '*': '100, 100/s', slow: '100, 1/s' })
    stage.shaper.work(() => stage.sleep(100), { concurrency: 1 })
    await stage.fill('fast', 60)
    await stage.fill('slow', 4)
    await stage.pass(20_000)
    // A job that starts late moves the grid, so that each turn may add the handler that was still busy.
    for (const [n, ms] of stage.startsOf('slow').entries())
      expect(ms).toBeLessThanOrEqual(n * 1_000 + (n + 1) * 200)
    await stage.conforms()
  })

  test('lost time is not made up for when handlers were all taken', async () => {
    const stage = new Stage('20, 10/s')
    stage.shaper.work((job) => (job.id === 'k1' ? stage.sleep(2_000) : undefined), { concurrency: 1 })
    await stage.fill('k', 4)
    await stage.pass(20_000)
    expect(stage.startsOf('k')).toEqual([0, 2_000, 2_100, 2_200])
    await stage.conforms()
  })
})

describe('several workers', () => {
  test('share the jobs in turn, and keep one rate', async () => {
    const stage = new Stage('20, 10/s')
    const done: [string, string][] = []
    for (const name of ['a', 'b', 'c']) stage.shaper.work((job) => void done.push([name, job.id]))
    await stage.fill('k', 6)
    await stage.pass(2_000)
    expect(done.map(([name]) => name)).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
    expect(stage.startsOf('k')).toEqual([0, 100, 200, 300, 400, 500])
    await stage.conforms()
  })

  test('a full worker is skipped, a closed one gets nothing, and after the last close the line stands still', async () => {
    const stage = new Stage('20, 10/s')
    const done: string[] = []
    const slow = stage.shaper.work(() => stage.sleep(10_000), { concurrency: 1 })
    const quick = stage.shaper.work(() => void done.push('quick'))
    await stage.fill('k', 4)
    await stage.pass(350)
    expect([slow.running, done.length]).toEqual([1, 3])
    await quick.close()
    await quick.close()
    await stage.fill('l', 3)
    await stage.pass(5_000)
    expect([stage.startsOf('l').length, done.length]).toEqual([0, 3])
    const closed = slow.close()
    await stage.pass(5_000)
    await closed
    expect(await stage.shaper.audit()).toMatchObject({ waiting: 3, running: 0 })
    stage.shaper.work(() => void done.push('late'))
    await stage.pass(5_000)
    expect(done).toHaveLength(6)
    await stage.conforms()
  })

  test('a handler may close its own worker', async () => {
    const stage = new Stage('20, 10/s')
    let closed = false
    const worker = stage.shaper.work(() => {
      void worker.close().then(() => {
        closed = true
      })
    })
    await stage.fill('k', 3)
    await stage.pass(1_000)
    expect([closed, worker.running, stage.starts.length]).toEqual([true, 0, 1])
    await stage.conforms({ unfinished: true })
  })
})

test('schedule changes nothing in memory, where the scheduler always runs; a closed shaper refuses it', async () => {
  const stage = new Stage('9, 2/s')
  stage.shaper.schedule()
  await stage.fill('k', 2)
  stage.shaper.work(() => undefined)
  stage.shaper.schedule()
  await stage.pass(5_000)
  expect(stage.startsOf('k')).toEqual([0, 500])
  await stage.close()
  expect(() => stage.shaper.schedule()).toThrow(ShaperClosedError)
})
