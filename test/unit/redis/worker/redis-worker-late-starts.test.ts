import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ShapedJob } from '../../../../src/line/shaped-job.ts'
import { LEASE_MS, RedisWorkerStage } from './redis-worker-stage.ts'

/** Longer than a slot is kept, shorter than a lease. */
const SLOT_PAST_MS = 400
/** Microseconds. */
const READING = 100

const outcomes = (stage: RedisWorkerStage) =>
  stage.store.finished.map(([id, { outcome }]) => [id, outcome.kind])

/** The process stands still before the first statement of the first handler. */
class StandstillStage extends RedisWorkerStage {
  readonly reasons: unknown[] = []
  readonly sent: string[] = []
  stands = 0
  readonly #ms: number

  constructor(ms: number, handler: (stage: StandstillStage, job: ShapedJob) => unknown, times = 1) {
    super((job) => {
      if (++this.stands <= times) this.clock.stall(this.#ms * 1_000)
      return handler(this, job)
    })
    this.#ms = ms
  }
}

/** A handler that calls an API: it looks up something, and then sends a request that listens to the signal. */
const send = async (stage: StandstillStage, job: ShapedJob) => {
  await Promise.resolve()
  if (job.signal.aborted) stage.reasons.push(job.signal.reason)
  job.signal.throwIfAborted()
  stage.sent.push(job.id)
}

/** What HTTP clients do with an aborted signal. */
async function abortedBy(signal: AbortSignal, name: string): Promise<void> {
  if (signal.aborted) throw Object.assign(new Error('aborted'), { name })
}

/** Every handler computes for three milliseconds. */
function computing(): RedisWorkerStage {
  const stage: RedisWorkerStage = new RedisWorkerStage(() => stage.compute(3))
  return stage
}

/** Delivers jobs to a worker that is closed at the end of the test, and lets them run. */
async function run(stage: RedisWorkerStage, jobs = 1, ms = 100): Promise<void> {
  onTestFinished(() => stage.close())
  await stage.open()
  stage.deliver(stage.store.hand('a', jobs))
  await stage.pass(ms)
}

/** Runs twenty jobs of a key, one after the other; returns how long after its slot each start counts. */
async function latenessOfTwenty(stage: RedisWorkerStage): Promise<number[]> {
  onTestFinished(() => stage.close())
  await stage.open()
  for (let n = 0; n < 20; n++) {
    stage.deliver(stage.store.hand('k'))
    await stage.pass(110)
  }
  const late = stage.store.finished.map(([id, report]) => report.startedAt! - stage.store.jobs.get(id)!.slot)
  expect(late).toHaveLength(20)
  return late
}

/** From when the first start counts. */
const startOf = (stage: RedisWorkerStage) => stage.store.finished[0]![1].startedAt ?? 0

describe('the start of a handler', () => {
  it('comes right after the last reading of the clock, with no timer set and no listener called in between', async () => {
    const steps: string[] = []
    let departedAt = 0
    const stage: RedisWorkerStage = new RedisWorkerStage((job) => {
      expect(steps.at(-1)).toMatch(/^now /)
      steps.push('handler')
      departedAt = job.departedAt
    })
    const now = stage.clock.now.bind(stage.clock)
    const wake = stage.clock.wake.bind(stage.clock)
    // Each reading takes a while, so that no two are the same.
    stage.clock.now = () => {
      stage.clock.stall(READING)
      const at = now()
      steps.push(`now ${at}`)
      return at
    }
    stage.clock.wake = (at, callback) => {
      steps.push('wake')
      return wake(at, callback)
    }
    stage.emitter.on('departed', () => void steps.push('departed'))
    await run(stage)
    const called = steps.indexOf('handler')
    expect(steps.indexOf('departed')).toBeGreaterThan(called)
    const read = Number(steps[called - 1]!.slice('now '.length))
    expect(Math.abs(departedAt * 1_000 - (read + stage.store.offset))).toBeLessThan(1.5 * READING)
  })

  it('is not delayed by a listener that takes its time', async () => {
    const startedAt: number[] = []
    const stage: RedisWorkerStage = new RedisWorkerStage(() => void startedAt.push(stage.clock.now()))
    stage.emitter.on('departed', () => stage.clock.stall(50_000))
    await run(stage, 2, 500)
    const departures = stage.emitted.filter(([name]) => name === 'departed').map(([, , ms]) => ms)
    expect(startedAt[1]! - startedAt[0]!).toBeCloseTo((departures[1]! - departures[0]!) * 1_000, -3)
  })

  it('before which the process compiled or collected for milliseconds counts from after that', async () => {
    const stage = computing()
    await run(stage)
    expect(startOf(stage)).toBeGreaterThanOrEqual(stage.store.jobs.get('a1')!.slot + 3_000)
  })

  it('counts from the call where each handler of the key has of late computed for as long', async () => {
    const late = await latenessOfTwenty(computing())
    expect(Math.min(...late.slice(0, 16))).toBeGreaterThanOrEqual(3_000)
    expect(Math.max(...late.slice(16))).toBeLessThan(3_000)
  })
})

describe('the event of a start', () => {
  it('carries the time from which the next of the bucket keeps away, as in memory', async () => {
    const stage = computing()
    let departed = { at: 0, waitedMs: 0 }
    stage.emitter.on('departed', ({ at, waitedMs }) => {
      departed = { at, waitedMs }
    })
    await run(stage)
    expect(departed).toEqual({ at: startOf(stage) / 1_000, waitedMs: startOf(stage) / 1_000 })
  })
})

describe('the start of a turn', () => {
  it('counts from after its listeners, which run before its caller, however long they take each time', async () => {
    const turn = () => new Promise<void>((resolve) => process.nextTick(resolve))
    const stage = new RedisWorkerStage(turn, 10, 0, true)
    stage.emitter.on('departed', () => stage.clock.stall(3_000))
    const late = await latenessOfTwenty(stage)
    expect(Math.min(...late)).toBeGreaterThanOrEqual(3_000)
  })
})

describe('a start after which the lease turns out to be over', () => {
  it('aborts the signal before the handler goes on, and nothing is reported to the store', async () => {
    const stage = new StandstillStage(LEASE_MS + 1, send)
    await run(stage)
    expect(stage.reasons).toMatchObject([{ code: 'lease-lost', id: 'a1' }])
    expect([stage.sent, outcomes(stage), stage.store.started]).toEqual([[], [], []])
    expect(stage.errors).toMatchObject([{ code: 'lease-lost' }])
    expect([stage.forgotten, stage.worker.running, stage.worker.waiting]).toEqual([['a1'], 0, 0])
  })

  it('shows a handler that sends in its first statement an aborted signal', async () => {
    const seen: boolean[] = []
    const stage = new StandstillStage(LEASE_MS + 1, (_, { signal }) => {
      seen.push(signal.aborted)
      signal.throwIfAborted()
    })
    await run(stage)
    expect([seen, outcomes(stage)]).toEqual([[true], []])
  })

  it('leaves the next of the bucket to the worker that has the lease', async () => {
    const stage = new StandstillStage(LEASE_MS + 1, send)
    await run(stage)
    stage.store.take('a1')
    stage.deliver(stage.store.hand('a'))
    await stage.pass(200)
    expect([stage.sent, outcomes(stage)]).toEqual([['a2'], [['a2', 'completed']]])
  })
})

describe('a start that turns out to be too late for its slot', () => {
  it('aborts the signal immediately with a reason of its own; the job goes back with its attempt', async () => {
    const stage = new StandstillStage(SLOT_PAST_MS, send)
    await run(stage)
    expect(stage.reasons).toMatchObject([{ code: 'started-late', id: 'a1', name: 'StartedLateError' }])
    expect(stage.sent).toEqual([])
    expect(stage.store.finished.map(([, { outcome }]) => outcome)).toEqual([{ kind: 'freeze', duration: 0 }])
    expect(stage.names('returned')).toEqual(['a1'])
    expect(stage.errors).toEqual([])
  })

  it.each([
    ['a timer of Node', (signal: AbortSignal) => sleep(1, undefined, { signal })],
    ['a client that throws an AbortError', (signal: AbortSignal) => abortedBy(signal, 'AbortError')],
    ['axios', (signal: AbortSignal) => abortedBy(signal, 'CanceledError')],
  ])('gives the job back also where the error is that of %s', async (_, wait) => {
    const stage = new StandstillStage(SLOT_PAST_MS, async (_, { signal }) => {
      await Promise.resolve()
      await wait(signal)
    })
    await run(stage)
    expect([outcomes(stage), stage.names('returned')]).toEqual([[['a1', 'freeze']], ['a1']])
  })

  it('fails where the handler fails for another reason', async () => {
    const stage = new StandstillStage(SLOT_PAST_MS, async () => {
      await Promise.resolve()
      throw new Error('500')
    })
    await run(stage)
    expect(outcomes(stage)).toEqual([['a1', 'failed']])
  })

  it('counts from after the standstill, so that the next of the bucket stays away from it', async () => {
    const stage = new StandstillStage(SLOT_PAST_MS, send)
    await run(stage)
    expect(startOf(stage)).toBeGreaterThanOrEqual(stage.store.jobs.get('a1')!.slot + SLOT_PAST_MS * 1_000)
  })

  it('lets a handler that does not listen finish, and keeps its result', async () => {
    const stage = new StandstillStage(SLOT_PAST_MS, async () => 'done')
    await run(stage)
    expect([outcomes(stage), stage.names('completed')]).toEqual([[['a1', 'completed']], ['a1']])
  })

  it('is none where the handler computed for so long', async () => {
    const stage: StandstillStage = new StandstillStage(0, async (_, { signal }) => {
      stage.compute(SLOT_PAST_MS)
      await Promise.resolve()
      signal.throwIfAborted()
    })
    await run(stage)
    expect([outcomes(stage), stage.reasons]).toEqual([[['a1', 'completed']], []])
  })

  it('is none where the handler had asked for its signal before: what it sent before is not sent twice', async () => {
    const stage: StandstillStage = new StandstillStage(0, async (_, { id, signal }) => {
      signal.throwIfAborted()
      stage.sent.push(id)
      stage.clock.stall(SLOT_PAST_MS * 1_000)
      await Promise.resolve()
      signal.throwIfAborted()
    })
    await run(stage)
    expect([stage.sent, outcomes(stage)]).toEqual([['a1'], [['a1', 'completed']]])
  })

  it('is none the second time: a handler that blocks its process is not sent back for ever', async () => {
    const stage = new StandstillStage(SLOT_PAST_MS, send, 2)
    await run(stage)
    const bucket = stage.store.bucket('a')
    const job = stage.store.jobs.get('a1')!
    Object.assign(job, { state: 'handed', epoch: 2 })
    bucket.handed.push('a1')
    stage.deliver([{ id: 'a1', epoch: 2, key: 'a', shard: 0 }])
    await stage.pass(200)
    expect(outcomes(stage)).toEqual([
      ['a1', 'freeze'],
      ['a1', 'completed'],
    ])
    expect(stage.sent).toEqual(['a1'])
  })
})
