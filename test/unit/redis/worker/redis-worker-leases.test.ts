import { describe, expect, test } from 'vitest'
import { LEASE_MS, RedisWorkerStage } from './redis-worker-stage.ts'

const BACKOFF = { type: 'fixed', delayMs: 500, maxDelayMs: 500, jitter: 0 } as const
const PATIENT = { attempts: 1, backoff: BACKOFF, timeoutMs: 600_000 } as const

const outcomes = (stage: RedisWorkerStage) =>
  stage.store.finished.map(([id, { outcome }]) => [id, outcome.kind])

const renewals = (stage: RedisWorkerStage) => stage.store.calls.filter((call) => call.startsWith('renew'))

describe('a lease', () => {
  /** Handlers that run for `ms`, and the reasons for which they were aborted. */
  function lasting(ms: number, concurrency?: number) {
    const reasons: unknown[] = []
    const stage: RedisWorkerStage = new RedisWorkerStage(async ({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      await stage.clock.sleep(ms * 1_000)
    }, concurrency)
    return { stage, reasons }
  }

  test('is renewed a third of its length after another, all in one call, until the end', async () => {
    const { stage } = lasting(4 * LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    stage.deliver(stage.store.hand('b', 1))
    await stage.pass(1.1 * LEASE_MS)
    expect(renewals(stage)).toEqual(Array(3).fill('renew a1 b1'))
    await stage.pass(4 * LEASE_MS)
    expect(outcomes(stage).sort()).toEqual([
      ['a1', 'completed'],
      ['b1', 'completed'],
    ])
    const count = renewals(stage).length
    await stage.pass(2 * LEASE_MS)
    expect(renewals(stage)).toHaveLength(count)
    expect(stage.errors).toEqual([])
    await stage.close()
  })

  test('of many jobs is renewed at most 200 at a time', async () => {
    const { stage } = lasting(LEASE_MS, 500)
    await stage.open()
    for (let n = 0; n < 450; n++) stage.deliver(stage.store.hand(`k${n}-`))
    await stage.pass(0.4 * LEASE_MS)
    const sizes = renewals(stage).map((call) => call.split(' ').length - 1)
    expect(sizes).toEqual([200, 200, 50])
    await stage.close(2 * LEASE_MS)
  })

  test('that is another worker’s now aborts the handler, whose outcome is not reported', async () => {
    const { stage, reasons } = lasting(LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.take('a1')
    await stage.pass(0.5 * LEASE_MS)
    expect(reasons).toMatchObject([{ code: 'lease-lost', id: 'a1' }])
    expect([stage.forgotten, outcomes(stage), stage.worker.running]).toEqual([['a1'], [], 0])
    await stage.pass(LEASE_MS)
    expect([outcomes(stage), stage.errors]).toMatchObject([[], [{ code: 'lease-lost' }]])
    await stage.close()
  })

  test('that ends while the store is away keeps the handler running, however long that is', async () => {
    const { stage, reasons } = lasting(30 * LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1, { settings: PATIENT }))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(20 * LEASE_MS)
    expect([reasons, stage.worker.running]).toEqual([[], 1])
    stage.store.isDown = false
    await stage.pass(11 * LEASE_MS)
    expect([reasons, outcomes(stage)]).toEqual([[], [['a1', 'completed']]])
    await stage.close()
  })

  test('that ends while the store is away is kept where the store knows it still', async () => {
    const { stage, reasons } = lasting(6 * LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(4 * LEASE_MS)
    stage.store.isDown = false
    await stage.pass(3 * LEASE_MS)
    expect([reasons, stage.names('completed')]).toEqual([[], ['a1']])
    await stage.close()
  })

  test('that ends while the store is away aborts the handler where another has the job when it is back', async () => {
    const { stage, reasons } = lasting(6 * LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(2 * LEASE_MS)
    expect(reasons).toEqual([])
    stage.store.take('a1')
    stage.store.isDown = false
    await stage.pass(LEASE_MS / 3)
    expect(reasons).toMatchObject([{ code: 'lease-lost', id: 'a1' }])
    await stage.pass(6 * LEASE_MS)
    expect(outcomes(stage)).toEqual([])
    await stage.close()
  })

  test('that outlasts an outage is kept, and the end is reported when the store is back', async () => {
    const { stage, reasons } = lasting(1_000)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(4_000)
    expect(stage.names('completed')).toEqual([])
    stage.store.isDown = false
    await stage.pass(3_000)
    expect([stage.names('completed'), reasons]).toEqual([['a1'], []])
    expect(stage.errors).toMatchObject([{ code: 'backend-unavailable' }])
    await stage.close()
  })

  test('that ended before the end could be reported: it is reported all the same when the store is back', async () => {
    const { stage, reasons } = lasting(1_000)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(3 * LEASE_MS)
    expect(stage.names('completed')).toEqual([])
    stage.store.isDown = false
    await stage.pass(3_000)
    expect([stage.names('completed'), reasons, outcomes(stage)]).toEqual([['a1'], [], [['a1', 'completed']]])
    await stage.close()
  })

  test('keeps outcomes of handlers that end during an outage of 85 s, and reports them when the store is back', async () => {
    const { stage, reasons } = lasting(1_000)
    await stage.open()
    for (const key of ['a', 'b', 'c']) stage.deliver(stage.store.hand(key, 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(85_000)
    expect(stage.errors.map(({ code }) => code)).toEqual(['backend-unavailable'])
    stage.store.isDown = false
    await stage.pass(3_000)
    expect([reasons, stage.names('completed').sort()]).toEqual([[], ['a1', 'b1', 'c1']])
    await stage.close()
  })

  test('is given up at its end by a worker that closes while the store is away: the outcome is lost, and the error says so', async () => {
    const { stage } = lasting(1_000)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.close(LEASE_MS + 2_000)
    expect(stage.errors.map(({ code }) => code)).toEqual(['backend-unavailable', 'lease-lost'])
    expect([stage.names('completed'), stage.forgotten]).toEqual([[], ['a1']])
  })

  test('that has ended: a start that the store has not heard of is reported when the store is back, before the end', async () => {
    const { stage } = lasting(5 * LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    // The grant is on its way back.
    await stage.pass(0.7)
    stage.store.isDown = true
    await stage.pass(2 * LEASE_MS)
    expect([stage.names('departed'), stage.store.started]).toEqual([['a1'], []])
    stage.store.isDown = false
    await stage.pass(5_000)
    expect([stage.store.started.length, outcomes(stage)]).toEqual([1, []])
    await stage.close(5 * LEASE_MS)
  })

  test('a start of which the store did not hear is reported along with the end', async () => {
    const { stage } = lasting(1_000)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    // The grant is on its way back.
    await stage.pass(0.7)
    stage.store.isDown = true
    await stage.pass(900)
    expect(stage.names('departed')).toEqual(['a1'])
    stage.store.isDown = false
    await stage.pass(4_000)
    expect(stage.store.finished.map(([, { startedAt }]) => typeof startedAt)).toEqual(['number'])
    expect(stage.names('completed')).toEqual(['a1'])
    await stage.close()
  })

  test('the start of a handler that ended immediately is reported again with its end, until the store has heard it', async () => {
    const stage = await new RedisWorkerStage(async () => undefined).open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(0.7)
    stage.store.isDown = true
    await stage.pass(1_400)
    expect(stage.names('departed')).toEqual(['a1'])
    stage.store.isDown = false
    await stage.pass(3_000)
    expect(stage.names('completed')).toEqual(['a1'])
    await stage.close()
  })

  test('that is over because of a report whose answer was lost: the report is repeated until the store says what became of it', async () => {
    const stage: RedisWorkerStage = new RedisWorkerStage(async () => {
      await stage.clock.sleep(1_000_000)
      throw new Error('as planned')
    })
    await stage.open()
    stage.deliver(stage.store.hand('a', 1, { settings: { ...PATIENT, attempts: 2 } }))
    await stage.pass(900)
    stage.store.losesReplies = true
    await stage.pass(1_950)
    stage.store.losesReplies = false
    // The renewal is refused before the report is sent again.
    await stage.pass(2_500)
    expect(renewals(stage)).toHaveLength(1)
    expect([stage.names('failed'), stage.errors.map(({ code }) => code)]).toEqual([
      ['a1'],
      ['backend-unavailable'],
    ])
    await stage.close()
  })

  test('that is over for a report that was never answered is given up by a worker that closes', async () => {
    const { stage } = lasting(1_000)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(900)
    stage.store.losesReplies = true
    await stage.close(LEASE_MS + 2_000)
    expect(stage.errors.map(({ code }) => code)).toEqual(['backend-unavailable', 'lease-lost'])
  })

  test('that could not be renewed is renewed again soon', async () => {
    const { stage } = lasting(LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(100)
    stage.store.isDown = true
    await stage.pass(LEASE_MS / 3 + 1_500)
    stage.store.isDown = false
    await stage.pass(LEASE_MS / 10)
    expect(renewals(stage)).toHaveLength(2)
    await stage.close(2 * LEASE_MS)
  })

  test('that was lost before the start was reported aborts the handler immediately', async () => {
    const { stage, reasons } = lasting(LEASE_MS)
    await stage.open()
    stage.deliver(stage.store.hand('a', 1))
    await stage.pass(0.7)
    stage.store.take('a1')
    await stage.pass(20)
    expect(stage.names('departed')).toEqual(['a1'])
    expect(reasons).toMatchObject([{ code: 'lease-lost' }])
    await stage.close(2 * LEASE_MS)
  })
})
