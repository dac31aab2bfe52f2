import { describe, expect, onTestFinished, test } from 'vitest'
import * as diagnostics from '../../../src/core/diagnostics.ts'
import { LeaseLostError, StartedLateError } from '../../../src/core/handler-errors.ts'
import { BackendUnavailableError, ForeignValueError } from '../../../src/index.ts'
import { redisErrorKind } from '../../../src/redis/connection/redis-errors.ts'
import { collectMetrics } from '../../../src/telemetry/metrics.ts'
import { Stage } from '../../support/stage.ts'
import { RedisWorkerStage } from '../redis/worker/redis-worker-stage.ts'

const CHANNELS = [
  diagnostics.departures,
  diagnostics.handlerEnds,
  diagnostics.lateStarts,
  diagnostics.scriptRuns,
  diagnostics.redisErrors,
  diagnostics.handoffs,
  diagnostics.schedulerPasses,
  diagnostics.leaderships,
]

function hear<Message>(channel: diagnostics.Diagnostics<Message>): Message[] {
  const heard: Message[] = []
  onTestFinished(channel.subscribe((message) => void heard.push(message)))
  return heard
}

/** Somebody throws an error that throws when it is looked at. */
function hostile(): Error {
  return new Proxy(new Error('m'), {
    get: () => {
      throw new Error('do not look')
    },
    has: () => {
      throw new Error('do not look')
    },
  })
}

const outcomes = (ends: readonly diagnostics.HandlerEnd[]) => ends.map(({ id, outcome }) => [id, outcome])

describe('in memory', () => {
  test('a start is published with its slot and its distance from the previous one', async () => {
    const heard = hear(diagnostics.departures)
    const stage = new Stage('9, 2/s')
    stage.shaper.work(() => undefined)
    await stage.shaper.enqueue('k', 0, { id: 'a', cost: 2 })
    await stage.shaper.enqueue('k', 0, { id: 'b' })
    await stage.pass(5_000)
    const of = { shaper: 'stage', key: 'k', pattern: '*', attempt: 1, admittedAt: 0 }
    const first = { slot: 0, startedAt: 0, lastStart: Number.NEGATIVE_INFINITY, spacing: 0 }
    expect(heard).toEqual([
      { ...of, ...first, id: 'a' },
      { ...of, id: 'b', slot: 1_000_000, startedAt: 1_000_000, lastStart: 0, spacing: 1_000_000 },
    ])
  })

  test('a late start has its own message', async () => {
    const heard = hear(diagnostics.lateStarts)
    const stage = new Stage('9, 2/s')
    stage.shaper.work(() => stage.sleep(1_200), { concurrency: 1 })
    await stage.fill('k', 2)
    await stage.pass(5_000)
    expect(heard).toEqual([{ shaper: 'stage', key: 'k', id: 'k2' }])
  })

  test('a start within the tolerance is not late', async () => {
    const heard = hear(diagnostics.lateStarts)
    const stage = new Stage('9, 2/s')
    stage.shaper.work(() => stage.sleep(504), { concurrency: 1 })
    await stage.fill('k', 2)
    await stage.pass(5_000)
    expect(heard).toEqual([])
  })

  test('a start is late only for the slot that all totals above its key let it have', async () => {
    const heard = hear(diagnostics.lateStarts)
    const stage = new Stage({ 'k/*': '9, 50/s', 'k/': '99, 5/s, 20/min' })
    stage.shaper.work(() => undefined)
    await stage.fill('k/a', 9)
    await stage.fill('k/b', 9)
    await stage.pass(3_330)
    expect(stage.starts).toHaveLength(17)
    expect(heard).toEqual([])
  })

  test('the end of a handler is published after its start, even if it settles immediately', async () => {
    const order: string[] = []
    onTestFinished(diagnostics.departures.subscribe(() => void order.push('start')))
    onTestFinished(diagnostics.handlerEnds.subscribe(() => void order.push('end')))
    const stage = new Stage('9, 2/s')
    stage.shaper.work(() => undefined)
    await stage.fill('k', 1)
    await stage.pass(10)
    expect(order).toEqual(['start', 'end'])
  })

  test('an unreadable error ends its attempt all the same', async () => {
    const ends = hear(diagnostics.handlerEnds)
    const stage = new Stage('9, 2/s', { jobDefaults: { attempts: 1 } })
    stage.shaper.work(() => {
      throw hostile()
    })
    await stage.fill('k', 1)
    await stage.pass(1_000)
    expect(outcomes(ends)).toEqual([['k1', 'failed']])
    expect(stage.emitted.map(([event]) => event)).toEqual(['failed'])
    await stage.conforms()
  })
})

describe('on Redis', () => {
  test('a start is published with the time of Redis, and then its end', async () => {
    const starts = hear(diagnostics.departures)
    const ends = hear(diagnostics.handlerEnds)
    const stage: RedisWorkerStage = new RedisWorkerStage(() => stage.clock.sleep(10_000))
    await stage.open()
    stage.deliver(stage.store.hand('a'))
    await stage.pass(100)
    expect(starts).toMatchObject([{ shaper: 'stage', key: 'a', id: 'a1', attempt: 1, pattern: '*' }])
    expect(starts[0]!.startedAt).toBe(stage.store.started[0]![1])
    expect(starts[0]!.startedAt).toBeGreaterThanOrEqual(starts[0]!.slot)
    expect(outcomes(ends)).toEqual([['a1', 'completed']])
    expect(ends[0]!.duration).toBe(10_000)
    await stage.close()
  })

  test('a handler that settles immediately is published after its start', async () => {
    const order: string[] = []
    onTestFinished(diagnostics.departures.subscribe(() => void order.push('start')))
    onTestFinished(diagnostics.handlerEnds.subscribe(() => void order.push('end')))
    const stage = await new RedisWorkerStage(() => undefined).open()
    stage.deliver(stage.store.hand('a'))
    await stage.pass(100)
    expect(order).toEqual(['start', 'end'])
    await stage.close()
  })

  test('a start that is later than the tolerance has its own message, one within it has not', async () => {
    const heard = hear(diagnostics.lateStarts)
    let stall = 4_000
    const stage: RedisWorkerStage = new RedisWorkerStage(() => void stage.clock.stall(stall))
    await stage.open()
    stage.deliver(stage.store.hand('a'))
    await stage.pass(110)
    stall = 9_000
    stage.deliver(stage.store.hand('a'))
    await stage.pass(110)
    expect(heard).toEqual([{ shaper: 'stage', key: 'a', id: 'a2' }])
    await stage.close()
  })

  test('so has a start whose slot was granted too late', async () => {
    const heard = hear(diagnostics.lateStarts)
    const stage = await new RedisWorkerStage(() => undefined).open()
    stage.store.missesBy = 9_000
    stage.deliver(stage.store.hand('a'))
    await stage.pass(110)
    expect(heard).toEqual([{ shaper: 'stage', key: 'a', id: 'a1' }])
    await stage.close()
  })

  test.each([
    ['failed', () => hostile()],
    ['aborted', () => new LeaseLostError('a1')],
    ['aborted', () => new StartedLateError('a1', 1)],
  ])('an attempt has %s, and it is reported to Redis', async (outcome, error) => {
    const ends = hear(diagnostics.handlerEnds)
    const stage = await new RedisWorkerStage(() => Promise.reject(error())).open()
    stage.deliver(stage.store.hand('a'))
    await stage.pass(100)
    expect(outcomes(ends)).toEqual([['a1', outcome]])
    expect(stage.store.finished.map(([id]) => id)).toEqual(['a1'])
    await stage.close()
  })
})

test('metrics subscribe to every channel, and to none after a close; a second close is harmless', async () => {
  const stage = new Stage('9, 2/s')
  const metrics = collectMetrics(stage.shaper)
  expect(CHANNELS.map((channel) => channel.hasSubscribers)).toEqual(CHANNELS.map(() => true))
  metrics.close()
  metrics.close()
  expect(CHANNELS.map((channel) => channel.hasSubscribers)).toEqual(CHANNELS.map(() => false))
  await stage.fill('k', 1)
  expect((await metrics.text()).text.trim()).toBe('')
})

test('metrics of two shapers in one process do not mix', async () => {
  const stage = new Stage('9, 2/s')
  const metrics = collectMetrics(stage.shaper, { cacheMs: 0 })
  onTestFinished(() => metrics.close())
  const of = { shaper: 'another', key: 'k', id: 'a' }
  diagnostics.lateStarts.publish(of)
  diagnostics.redisErrors.publish({ shaper: 'another', kind: 'timeout' })
  diagnostics.scriptRuns.publish({ shaper: 'another', verb: 'admit', duration: 1 })
  diagnostics.handoffs.publish({ shaper: 'another', shard: 0, jobs: 5, outcome: 'added' })
  diagnostics.leaderships.publish({ shaper: 'another', shard: 7, isLeader: true })
  diagnostics.handlerEnds.publish({ ...of, attempt: 1, outcome: 'completed', duration: 1 })
  const pass = { shard: 0, duration: 1, handed: 0, recovered: 0, expired: 0 }
  diagnostics.schedulerPasses.publish({ shaper: 'another', ...pass })
  const times = { attempt: 1, admittedAt: 0, slot: 0, startedAt: 0, lastStart: 0, spacing: 1 }
  diagnostics.departures.publish({ ...of, pattern: '*', ...times })
  const { text } = await metrics.text()
  const samples = text.split('\n').filter((line) => /^velvet_rope_.* [1-9]/.test(line))
  expect(samples.map((line) => line.replace(/\{.*/, ''))).toEqual([
    'velvet_rope_scheduler_leader',
    'velvet_rope_build_info',
  ])
})

const unavailable = (reason: string) => new BackendUnavailableError(`Redis is unavailable: ${reason}`)

test.each([
  ['timeout', unavailable('no answer in time')],
  ['connection', unavailable('the connection was lost')],
  ['connection', unavailable('connect failed (ECONNREFUSED)')],
  ['connection', unavailable('it cannot be connected to in time')],
  ['refused', unavailable('its memory is full (maxmemory)')],
  ['refused', unavailable('it is loading its data')],
  ['refused', unavailable('it has as many clients as it takes (maxclients)')],
  ['foreign', new ForeignValueError('something')],
  ['other', new Error('anything')],
  ['other', undefined],
])('the kind %s is that of %o', (kind, error) => {
  expect(redisErrorKind(error)).toBe(kind)
})
