import { describe, expect, test } from 'vitest'
import { FinalError, FreezeError } from '../../../../src/core/handler-errors.ts'
import type { ShapedJob } from '../../../../src/line/shaped-job.ts'
import { LEASE_MS, RedisWorkerStage } from './redis-worker-stage.ts'

const BACKOFF = { type: 'fixed', delayMs: 500, maxDelayMs: 500, jitter: 0 } as const
const THRICE = { attempts: 3, backoff: BACKOFF, timeoutMs: 60_000 } as const

const outcomes = (stage: RedisWorkerStage) =>
  stage.store.finished.map(([id, { outcome }]) => [id, outcome.kind])

describe('a handler', () => {
  test('gets the job with its data and its departure by the clock of the store', async () => {
    const jobs: ShapedJob<unknown>[] = []
    const stage = new RedisWorkerStage((job) => void jobs.push(job))
    // So near that its clock is known well enough.
    stage.store.trip = () => [100, 100]
    await stage.open()
    stage.deliver(stage.store.hand('a', 1, { data: '{"to":"x"}' }))
    await stage.pass(50)
    expect(jobs).toMatchObject([{ id: 'a1', key: 'a', data: { to: 'x' }, attempt: 1, fence: 1, cost: 1 }])
    const [, startedAt] = stage.store.started[0]!
    expect(jobs[0]!.departedAt).toBeCloseTo(startedAt / 1_000, 2)
    expect(startedAt).toBeGreaterThanOrEqual(stage.store.jobs.get('a1')!.slot)
    await stage.close()
    expect([stage.isClosed, stage.worker.running, stage.worker.waiting]).toEqual([true, 0, 0])
  })

  test('of a calm bucket starts on time though a hot one has more jobs here than there are places', async () => {
    const stage = await new RedisWorkerStage(() => undefined, 1, 0, false, 2).open()
    stage.store.bucket('hot', 1_000)
    stage.deliver([...stage.store.hand('hot', 16), ...stage.store.hand('calm')])
    await stage.pass(5)
    expect(stage.forgotten).toContain('calm1')
    expect(stage.names('departed')).toContain('calm1')
    await stage.pass(50)
    expect(stage.names('departed')).toHaveLength(17)
    await stage.close()
  })

  test('learns how many of its starts a crash has cut off', async () => {
    const starts: unknown[] = []
    const stage = await new RedisWorkerStage(
      ({ attempt, crashes }) => void starts.push([attempt, crashes]),
    ).open()
    stage.deliver([...stage.store.hand('a'), ...stage.store.hand('b', 1, { crashes: 2 })])
    await stage.pass(50)
    expect(starts).toEqual([
      [1, 0],
      [1, 2],
    ])
    await stage.close()
  })

  test('is reported when it starts and, once the store knows, when it ends', async () => {
    const stage = new RedisWorkerStage(async () => {
      await stage.clock.sleep(10_000)
      return 'done'
    })
    await stage.open()
    const results: unknown[] = []
    stage.emitter.on('completed', ({ result }) => void results.push(result))
    stage.deliver(stage.store.hand('a', 2))
    await stage.pass(300)
    expect(stage.emitted.map(([event, id]) => `${event} ${id}`)).toEqual([
      'departed a1',
      'completed a1',
      'departed a2',
      'completed a2',
    ])
    const [departed, completed] = stage.emitted.map(([, , ms]) => ms)
    expect(completed! - departed!).toBeGreaterThanOrEqual(10)
    expect(results).toEqual(['done', 'done'])
    expect(stage.store.finished.map(([, report]) => report.startedAt)).toEqual([undefined, undefined])
    expect(stage.forgotten).toEqual(['a1', 'a2'])
    await stage.close()
  })

  test('that ends immediately is reported once, with its start', async () => {
    const stage = await new RedisWorkerStage(async () => undefined).open()
    stage.deliver(stage.store.hand('a', 2))
    await stage.pass(300)
    expect(stage.store.calls.filter((call) => call.startsWith('start'))).toEqual([])
    expect(outcomes(stage)).toEqual([
      ['a1', 'completed'],
      ['a2', 'completed'],
    ])
    await stage.close()
  })

  test('ends no earlier than it started, also where the store is behind what the worker reckons', async () => {
    const stage: RedisWorkerStage = new RedisWorkerStage(async () => {
      stage.store.offset -= 2_000
    })
    await stage.open()
    stage.deliver(stage.store.hand('a'))
    await stage.pass(300)
    const [departed, completed] = stage.emitted as [(typeof stage.emitted)[0], (typeof stage.emitted)[0]]
    expect([departed[0], completed[0]]).toEqual(['departed', 'completed'])
    expect(completed[2]).toBeGreaterThanOrEqual(departed[2])
    await stage.close()
  })

  test('that lets a caller go has started when the caller has gone, and is reported once', async () => {
    const goes = () => stage.clock.sleep(3_000)
    const stage: RedisWorkerStage = new RedisWorkerStage(goes, 10, 0, true)
    await stage.open()
    stage.deliver(stage.store.hand('a'))
    await stage.pass(100)
    const [[, { startedAt = 0 }]] = stage.store.finished as [(typeof stage.store.finished)[0]]
    expect(startedAt).toBeGreaterThanOrEqual(stage.store.jobs.get('a1')!.slot + 3_000)
    expect(stage.store.calls.filter((call) => call.startsWith('start'))).toEqual([])
    await stage.close()
  })

  test('makes room for the next when it has ended', async () => {
    const running: number[] = []
    const stage: RedisWorkerStage = new RedisWorkerStage(async () => {
      running.push(stage.worker.running)
      await stage.clock.sleep(50_000)
    }, 1)
    await stage.open()
    for (const key of ['a', 'b', 'c']) stage.deliver(stage.store.hand(key))
    await stage.pass(300)
    expect(running).toEqual([1, 1, 1])
    expect(stage.names('completed')).toHaveLength(3)
    await stage.close()
  })

  test('that fails is tried again while attempts are left, by the delay of its backoff', async () => {
    const stage = await new RedisWorkerStage(() => {
      throw new Error('as planned')
    }).open()
    const retries: (number | undefined)[] = []
    stage.emitter.on('failed', ({ at, retryAt }) => void retries.push(retryAt && Math.round(retryAt - at)))
    stage.deliver(stage.store.hand('a', 1, { settings: THRICE }))
    stage.deliver(stage.store.hand('b', 1))
    await stage.pass(100)
    expect(stage.store.finished.map(([id, { outcome }]) => [id, outcome])).toEqual([
      ['a1', { kind: 'retry', error: 'as planned', delay: 500_000 }],
      ['b1', { kind: 'failed', error: 'as planned' }],
    ])
    expect(retries).toEqual([500, undefined])
    await stage.close()
  })

  test('that says that no retry helps has failed its job, though attempts are left', async () => {
    const stage = await new RedisWorkerStage(() => {
      throw new FinalError('no such number')
    }).open()
    const retries: (number | undefined)[] = []
    stage.emitter.on('failed', ({ retryAt }) => void retries.push(retryAt))
    stage.deliver(stage.store.hand('a', 1, { settings: THRICE }))
    await stage.pass(100)
    expect(stage.store.finished.map(([id, { outcome }]) => [id, outcome])).toEqual([
      ['a1', { kind: 'failed', error: 'no such number' }],
    ])
    expect(retries).toEqual([undefined])
    await stage.close()
  })

  test('that says the other side wants a pause freezes its bucket and keeps its attempt', async () => {
    const stage = await new RedisWorkerStage(() => {
      throw new FreezeError({ forMs: 2_000 })
    }).open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    expect(stage.store.finished[0]![1].outcome).toEqual({ kind: 'freeze', duration: 2_000_000 })
    expect(stage.emitted.map(([event, who]) => `${event} ${who}`)).toEqual([
      'departed a1',
      'frozen a',
      'returned a1',
    ])
    await stage.close()
  })

  test('that takes too long is stopped, also where the clock of the store is moved meanwhile', async () => {
    const reasons: unknown[] = []
    const stage = await new RedisWorkerStage(({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      return new Promise(() => undefined)
    }).open()
    stage.deliver(stage.store.hand('a', 1, { settings: { ...THRICE, attempts: 1, timeoutMs: 3_000 } }))
    await stage.pass(1_000)
    stage.store.offset += 60_000_000
    await stage.pass(1_500)
    expect(reasons).toEqual([])
    await stage.pass(1_000)
    expect(reasons).toMatchObject([{ code: 'handler-timeout' }])
    expect(outcomes(stage)).toEqual([['a1', 'failed']])
    await stage.close()
  })

  test('whose job expired at the gate is not called', async () => {
    const stage = await new RedisWorkerStage(() => 'never').open()
    const jobs = stage.store.hand('a', 1)
    stage.store.expiring.add('a1')
    stage.deliver(jobs)
    await stage.pass(100)
    expect(stage.emitted.map(([event]) => event)).toEqual(['expired'])
    expect(stage.forgotten).toEqual(['a1'])
    await stage.close()
  })
})

describe('close', () => {
  function slow(ms: number, concurrency = 10) {
    const stage: RedisWorkerStage = new RedisWorkerStage(async () => {
      await stage.clock.sleep(ms * 1_000)
    }, concurrency)
    return stage
  }

  test('gives back waiting jobs and closes the transport immediately, waits for handlers and reports them', async () => {
    const stage = await slow(3_000).open()
    stage.deliver(stage.store.hand('a', 3))
    await stage.pass(50)
    const closed = stage.worker.close()
    await stage.pass(100)
    expect(outcomes(stage).sort()).toEqual([
      ['a2', 'back'],
      ['a3', 'back'],
    ])
    expect([stage.isClosed, stage.worker.running, stage.transport]).toEqual([
      false,
      1,
      ['open', 'stop', 'close'],
    ])
    await stage.pass(3_000)
    await closed
    expect(stage.isClosed).toBe(true)
    expect(stage.names('completed')).toEqual(['a1'])
    expect(stage.worker.close()).toBe(stage.worker.close())
    await stage.close()
  })

  test('gives back what the transport delivers meanwhile, before it has closed', async () => {
    const stage = await slow(500).open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(50)
    const closed = stage.worker.close()
    await stage.pass(100)
    stage.deliver(stage.store.hand('b', 1))
    const back = stage.store.finish.bind(stage.store)
    let isBack = false
    stage.store.finish = async (shard, reports) => {
      const answer = await back(shard, reports)
      if (reports.some(({ id }) => id === 'b1')) isBack = true
      return answer
    }
    void closed.then(() => expect(isBack).toBe(true))
    await stage.pass(1_000)
    await closed
    expect(outcomes(stage)).toContainEqual(['b1', 'back'])
    await stage.close()
  })

  test('with a time to drain: what still runs then goes back with its attempt, whatever attempts are left', async () => {
    const stage = await slow(60_000).open()
    stage.deliver(stage.store.hand('a', 1, { settings: THRICE }))
    stage.deliver(stage.store.hand('b', 1))
    await stage.pass(50)
    await stage.close(1_100, { drainMs: 1_000 })
    expect(outcomes(stage)).toEqual([
      ['a1', 'freeze'],
      ['b1', 'freeze'],
    ])
    expect(stage.names('returned')).toEqual(['a1', 'b1'])
    expect(stage.names('failed')).toEqual([])
    expect(stage.names('frozen')).toEqual([])
    expect(stage.isClosed).toBe(true)
  })

  test('what comes meanwhile is given back', async () => {
    const stage = await slow(500).open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(50)
    const closed = stage.worker.close()
    stage.deliver(stage.store.hand('b', 1))
    await stage.pass(1_000)
    await closed
    expect(outcomes(stage)).toEqual([
      ['b1', 'back'],
      ['a1', 'completed'],
    ])
    await stage.close()
  })

  test('ends with the store away, when the leases have', async () => {
    const stage = await slow(1_000).open()
    stage.deliver(stage.store.hand('a', 3))
    await stage.pass(50)
    stage.store.isDown = true
    void stage.worker.close()
    await stage.pass(LEASE_MS - 1_000)
    expect(stage.isClosed).toBe(false)
    await stage.close(6_000)
    expect(stage.isClosed).toBe(true)
    expect(stage.forgotten.sort()).toEqual(['a1', 'a2', 'a3'])
  })

  test('a transport that cannot be opened is tried again, and reported once', async () => {
    const stage = new RedisWorkerStage(() => undefined, 10, 3)
    await stage.pass(2_000)
    expect(stage.transport).toEqual(['open'])
    expect(stage.errors.map(({ message }) => message)).toEqual(['no transport yet'])
    await stage.close()
  })

  test('while the transport cannot be opened it ends immediately', async () => {
    const stage = new RedisWorkerStage(() => undefined, 10, 1_000)
    await stage.pass(5_000)
    await stage.close(0)
    expect([stage.isClosed, stage.transport]).toEqual([true, []])
  })
})
