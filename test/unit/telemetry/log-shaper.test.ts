import { describe, expect, test } from 'vitest'
import { FreezeError } from '../../../src/index.ts'
import { Emitter } from '../../../src/line/emitter.ts'
import type { LogLevel } from '../../../src/telemetry/log.ts'
import { logShaper } from '../../../src/telemetry/log-shaper.ts'
import { Stage } from '../../support/stage.ts'
import { LogLines } from './log-lines.ts'

const SECRET = 'payload-that-is-secret'
const SECOND = 1_000_000

/** A shaper on virtual time whose lines are kept, in short: level, message and fields. */
class LoggedStage extends Stage {
  readonly kept: LogLines
  readonly stop: () => void

  constructor(limit: string, level: LogLevel = 'debug', attempts = 1) {
    const backoff = { type: 'fixed', delayMs: 100, maxDelayMs: 100, jitter: 0 } as const
    super(limit, { jobDefaults: { attempts, backoff } })
    this.kept = new LogLines({ level })
    this.stop = logShaper(this.shaper, this.kept.log, () => this.clock.now())
  }

  get short(): (readonly [level: unknown, message: unknown, fields: Record<string, unknown>])[] {
    return this.kept.lines.map(({ level, message, time, pid, shaper, ...fields }) => {
      expect([typeof time, pid, shaper]).toEqual(['string', process.pid, 'stage'])
      return [level, message, fields]
    })
  }
}

/** Of a shaper that has nothing but its events. */
function logged(now = () => 0) {
  const kept = new LogLines()
  const emitter = new Emitter<unknown>()
  const shaper = {
    name: 'stage',
    on: (...given: Parameters<typeof emitter.on>) => emitter.on(...given),
    off: (...given: Parameters<typeof emitter.off>) => emitter.off(...given),
  }
  const stop = logShaper(shaper as unknown as Stage['shaper'], kept.log, now)
  return { emitter, kept, stop }
}

test('at debug a job can be followed, and neither its data nor its result are logged', async () => {
  const stage = new LoggedStage('1, 2/s')
  stage.shaper.work(() => ({ secret: SECRET }))
  await stage.shaper.enqueue('k', { text: SECRET }, { id: 'a' })
  await stage.shaper.enqueue('k', SECRET, { id: 'b' })
  await stage.shaper.enqueue('k', SECRET, { id: 'c' })
  await stage.shaper.cancel('b')
  expect(stage.kept.written.join('')).not.toContain(SECRET)
  const entries = stage.short.map(([level, message, { id }]) => `${level} ${message} ${id}`)
  expect(entries.sort()).toEqual([
    'debug admitted a',
    'debug admitted b',
    'debug cancelled b',
    'debug completed a',
    'debug departed a',
    'debug rejected c',
  ])
})

test('actions of operators and changed limits are logged at info', async () => {
  const stage = new LoggedStage('1, 2/s', 'info')
  await stage.shaper.pause('k')
  await stage.shaper.resume('k')
  await stage.shaper.freeze('k', 1_500)
  await stage.shaper.limits.set('a', '5, 1/s')
  await stage.shaper.limits.unset('a')
  stage.shaper.limits.setLocal('a', '5, 5000/s', { by: 'ann' })
  stage.shaper.limits.unsetLocal('a')
  expect(stage.short).toEqual([
    ['info', 'paused', { key: 'k' }],
    ['info', 'resumed', { key: 'k' }],
    ['info', 'frozen', { key: 'k', forMs: 1_500 }],
    ['info', 'limit changed', { pattern: 'a', limit: '5, 1/s' }],
    ['info', 'limit changed', { pattern: 'a', isUnset: true }],
    ['info', 'local limit changed', { pattern: 'a', limit: '5, 5000/s', by: 'ann' }],
    ['info', 'local limit changed', { pattern: 'a', isUnset: true }],
  ])
})

test('a failed attempt is a warning, with the time of the retry or that it was the last', async () => {
  const stage = new LoggedStage('9, 2/s', 'warn', 2)
  stage.shaper.work(() => {
    throw Object.assign(new Error('no such number'), { response: { body: SECRET } })
  })
  await stage.fill('k', 1)
  await stage.pass(5_000)
  const error = { name: 'Error', message: 'no such number' }
  expect(stage.short).toEqual([
    ['warn', 'attempt failed', { id: 'k1', key: 'k', attempt: 1, error, retryAfterMs: 100 }],
    ['warn', 'attempt failed', { id: 'k1', key: 'k', attempt: 2, error, isLast: true }],
  ])
})

test('an expired job is logged', async () => {
  const stage = new LoggedStage('9, 2/s', 'info')
  await stage.shaper.enqueue('k', 0, { id: 'a', deadlineMs: 100 })
  await stage.pass(1_000)
  expect(stage.short).toEqual([['info', 'expired', { id: 'a', key: 'k' }]])
})

test('limits that replace those of another process are logged with both, and with their author', () => {
  const { emitter, kept } = logged()
  const limits = Array.from({ length: 22 }, (_, n) => ({ pattern: `k${n}`, after: '1, 1/s' }))
  const first = { pattern: '*', before: '9, 3/s', after: '9, 10/s' }
  emitter.emit('limitsReplaced', {
    at: 0,
    origin: 'code',
    by: 'app:17',
    since: 0,
    limits: [first, { pattern: 'a', before: '1, 1/s' }],
  })
  emitter.emit('limitsReplaced', { at: 0, origin: 'file', limits })
  expect(kept.lines).toMatchObject([
    {
      level: 'info',
      message: 'limits of this process replaced those of another',
      origin: 'code',
      by: 'app:17',
      since: '1970-01-01T00:00:00.000Z',
      limits: ['*: 9, 3/s -> 9, 10/s', 'a: 1, 1/s -> none'],
    },
    { origin: 'file', more: 2 },
  ])
})

test('a shortened freeze is a warning, with the requested time', async () => {
  const stage = new LoggedStage('9, 2/s')
  await stage.shaper.freeze('k', 86_400_000, { atMostMs: 500 })
  await stage.shaper.unfreeze('k')
  expect(stage.short).toEqual([
    ['warn', 'frozen for less than requested', { key: 'k', forMs: 500, askedMs: 86_400_000 }],
    ['info', 'unfrozen', { key: 'k' }],
  ])
})

test('a freeze by a handler is logged, with the time when its job returns', async () => {
  const stage = new LoggedStage('9, 2/s')
  stage.shaper.work(() => {
    if (stage.now < 100) throw new FreezeError({ forMs: 700 })
  })
  await stage.fill('k', 1)
  await stage.pass(10)
  expect(stage.short).toContainEqual(['info', 'frozen', { key: 'k', forMs: 700 }])
  expect(stage.short).toContainEqual([
    'debug',
    'returned to its line',
    { id: 'k1', key: 'k', retryAfterMs: 700 },
  ])
})

test('the store and lost workers are logged', () => {
  const { emitter, kept } = logged()
  emitter.emit('connected', { durability: 'everysec', version: '7.0.15', at: 0 })
  const job = { id: 'a', key: 'k', cost: 1, attempt: 2, at: 0 }
  emitter.emit('recovered', { ...job, mayHaveStarted: true })
  expect(kept.lines).toMatchObject([
    { level: 'info', message: 'connected', redis: '7.0.15', durability: 'everysec' },
    {
      level: 'warn',
      message: 'recovered from a lost worker',
      id: 'a',
      key: 'k',
      attempt: 2,
      mayHaveStarted: true,
    },
  ])
})

test('jobs that no worker took up are one line, however many come back', () => {
  const { emitter, kept } = logged()
  for (let n = 0; n < 100; n++) {
    emitter.emit('recovered', { id: `j${n}`, key: 'k', cost: 1, attempt: 0, at: 0, mayHaveStarted: false })
  }
  const message = 'back in its line: no worker had begun with it'
  expect(kept.lines).toMatchObject([{ level: 'warn', message, id: 'j0', key: 'k' }])
})

describe('a flood', () => {
  test('of failures is thirty lines in ten seconds, and then the number suppressed', async () => {
    const stage = new LoggedStage('1000, 100/s', 'info')
    stage.shaper.work(() => {
      throw new Error('down')
    })
    await stage.fill('k', 500)
    await stage.pass(9_000)
    expect(stage.short).toHaveLength(30)
    await stage.pass(6_000)
    expect(stage.short).toHaveLength(30)
    await stage.fill('k-again', 1)
    await stage.pass(100)
    expect(stage.short.at(-1)).toMatchObject(['warn', 'attempt failed', { id: 'k-again1', suppressed: 470 }])
  })

  test('of one kind does not suppress another', async () => {
    const stage = new LoggedStage('1000, 100/s', 'info')
    stage.shaper.work(() => {
      throw new Error('down')
    })
    await stage.fill('k', 100)
    await stage.pass(2_000)
    await stage.shaper.pause('k')
    expect(stage.short.at(-1)).toEqual(['info', 'paused', { key: 'k' }])
  })

  test('below the level is not counted', async () => {
    const stage = new LoggedStage('1000, 100/s', 'silent')
    stage.shaper.work(() => {
      throw new Error('down')
    })
    await stage.fill('k', 100)
    await stage.pass(2_000)
    stage.kept.log.level = 'warn'
    await stage.fill('b', 1)
    await stage.pass(100)
    expect(stage.short).toMatchObject([['warn', 'attempt failed', { id: 'b1' }]])
    expect(stage.short[0]![2]).not.toHaveProperty('suppressed')
  })

  test('of one error is a line in ten seconds, and of many errors thirty', () => {
    let now = 0
    const { emitter, kept, stop } = logged(() => now)
    for (let n = 0; n < 50; n++) emitter.fail(new Error('Redis is unavailable: no answer in time'))
    expect(kept.line).toMatchObject({ level: 'error', message: 'error' })
    now += 10 * SECOND
    emitter.fail(new Error('Redis is unavailable: no answer in time'))
    expect(kept.lines[1]).toMatchObject({ repeated: 49 })
    for (let n = 0; n < 200; n++) emitter.fail(new Error(`the lease of job ${n} was lost`))
    expect(kept.lines).toHaveLength(31)
    stop()
    now += 10 * SECOND
    emitter.on('error', () => undefined)
    emitter.fail(new Error('after'))
    expect(kept.lines).toHaveLength(31)
  })
})

test('after its end nothing is logged', async () => {
  const stage = new LoggedStage('9, 2/s')
  stage.stop()
  await stage.fill('k', 1)
  expect(stage.kept.written).toEqual([])
})
