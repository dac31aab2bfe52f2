import { describe, expect, onTestFinished, test } from 'vitest'
import { type FillOutcome, meterFillings } from '../../../src/core/diagnostics.ts'
import { HOUR, MILLISECOND, MINUTE, SECOND } from '../../../src/core/duration.ts'
import {
  InvalidKeyError,
  InvalidOptionsError,
  MeterClosedError,
  NoLimitError,
} from '../../../src/core/errors.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import { Shaper } from '../../../src/index.ts'
import { MemoryMeterStore } from '../../../src/meter/memory-meter-store.ts'
import { Meter, type MeterOptions, type MeterStore } from '../../../src/meter.ts'

function open(options: Partial<MeterOptions> = {}): { meter: Meter; clock: VirtualClock } {
  const clock = new VirtualClock(1_000 * SECOND)
  const meter = new Meter('test', { limits: { '*': '10, 1/s' }, clock, ...options })
  onTestFinished(() => meter.close())
  return { meter, clock }
}

describe('a fill', () => {
  test('returns the whole level', async () => {
    const { meter, clock } = open({ limits: { '*': '10, 1/s', 'a/b': '10, 2/s' } })
    expect(await meter.fill('a/b/c', 4)).toEqual({
      accepted: true,
      level: 4,
      space: 6,
      full: false,
      blocked: false,
      retryAfterMs: 0,
      emptyInMs: 2_000,
      capacity: 10,
      intervalMs: 500,
      pattern: 'a/b',
    })
    await clock.advance(250 * MILLISECOND)
    expect(await meter.fill('a/b/c', 7)).toEqual({
      accepted: false,
      level: 3.5,
      space: 6.5,
      full: false,
      blocked: false,
      retryAfterMs: 250,
      emptyInMs: 1_750,
      capacity: 10,
      intervalMs: 500,
      pattern: 'a/b',
    })
    const reading = await meter.fill('a/b/c', 6.5)
    expect(reading).toMatchObject({ accepted: true, level: 10, space: 0, full: true })
  })

  test('is of one unit by default', async () => {
    const { meter } = open()
    expect((await meter.fill('k')).level).toBe(1)
  })

  test('gets a retry time in whole milliseconds, rounded up, and is accepted then', async () => {
    const { meter, clock } = open({ limits: { '*': '10, 3/s' } })
    await meter.fill('k', 10)
    const { retryAfterMs } = await meter.fill('k')
    expect(retryAfterMs).toBe(334)
    await clock.advance((retryAfterMs - 1) * MILLISECOND)
    expect(await meter.canAccept('k')).toBe(false)
    const again = await meter.fill('k')
    expect(again).toMatchObject({ accepted: false, retryAfterMs: 1 })
    await clock.advance(MILLISECOND)
    expect(await meter.canAccept('k')).toBe(true)
    expect(await meter.fill('k')).toMatchObject({ accepted: true, retryAfterMs: 0 })
  })

  test('of more than the capacity never goes in, and says so', async () => {
    const { meter } = open()
    expect(await meter.fill('k', 10.5)).toMatchObject({
      accepted: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })

  test.each([-1, -1e-9, Number.NaN, Number.POSITIVE_INFINITY, '1', null])(
    'of %j is rejected with an error',
    async (amount) => {
      const { meter } = open()
      for (const verb of ['fill', 'canAccept', 'level'] as const) {
        await expect(meter[verb]('k', amount as number)).rejects.toThrow(InvalidOptionsError)
        await expect(meter[verb]('k', amount as number)).rejects.toThrow(`${verb}: expected amount`)
      }
      expect(await meter.level('k')).toMatchObject({ level: 0 })
    },
  )

  test.each(['', 'a\nb', 'a\u0000', 'x'.repeat(257), '__proto__', 'a/__proto__', '\ud800', 5])(
    'of the key %j is rejected with an error, by each verb',
    async (key) => {
      const { meter } = open()
      for (const verb of ['fill', 'canAccept', 'level', 'drain'] as const) {
        await expect(meter[verb](key as string)).rejects.toThrow(InvalidKeyError)
      }
    },
  )

  test.each(['👩‍🚀/é', 'x'.repeat(256), 'constructor', '*', "'; --"])('takes the key %j', async (key) => {
    const { meter } = open()
    expect(await meter.fill(key, 2)).toMatchObject({ accepted: true, level: 2 })
    expect(await meter.level(`${key.slice(0, 200)}.`)).toMatchObject({ level: 0 })
  })

  test('of a key without a limit is rejected with an error', async () => {
    const { meter } = open({ limits: { a: '1, 1/s' } })
    await expect(meter.fill('b')).rejects.toThrow(NoLimitError)
    await expect(meter.canAccept('b')).rejects.toThrow(NoLimitError)
    await expect(meter.level('b')).rejects.toThrow(NoLimitError)
    await meter.drain('b')
  })
})

test('can-accept and level write nothing', async () => {
  const { meter, clock } = open()
  expect(await meter.canAccept('k', 10)).toBe(true)
  expect(await meter.canAccept('k', 10.5)).toBe(false)
  await meter.fill('k', 4)
  await clock.advance(SECOND)
  for (let n = 0; n < 3; n++) {
    expect(await meter.canAccept('k', 7)).toBe(true)
    expect(await meter.canAccept('k', 8)).toBe(false)
    expect(await meter.level('k')).toEqual({
      level: 3,
      space: 7,
      full: false,
      blocked: false,
      emptyInMs: 3_000,
      capacity: 10,
      intervalMs: 1_000,
      pattern: '*',
    })
  }
})

test('a level says whether an amount would fit, at the same instant and in one reading', async () => {
  const { meter, clock } = open()
  const memory = new MemoryMeterStore(clock)
  const reads: string[] = []
  const store: MeterStore = {
    fill: (request) => memory.fill(request),
    read: async ({ key }) => {
      reads.push(key)
      return memory.read({ name: 'test', key })
    },
    drain: (id) => memory.drain(id),
    close: () => memory.close(),
  }
  const stored = new Meter('test', { limits: { '*': '10, 1/s' }, store })
  for (const one of [meter, stored]) {
    await one.fill('k', 4)
    for (const [amount, accepted] of [
      [0, true],
      [6, true],
      [6.5, false],
      [11, false],
    ] as const) {
      const { accepted: fits, ...level } = await one.level('k', amount)
      expect(fits).toBe(accepted)
      expect(level).toEqual(await one.level('k'))
    }
    expect(Object.isFrozen(await one.level('k', 1))).toBe(true)
  }
  expect(reads).toHaveLength(9)
})

test('clamped, it fills to the brim, and is full at the instant of the write', async () => {
  const { meter, clock } = open({ overflow: 'clamp' })
  expect(await meter.fill('k', 9)).toMatchObject({ accepted: true, full: false })
  expect(await meter.fill('k', 9)).toMatchObject({
    accepted: false,
    full: true,
    level: 10,
    retryAfterMs: 9_000,
  })
  await clock.advance(1)
  expect(await meter.level('k')).toMatchObject({ full: false })
})

describe('a meter that blocks when full', () => {
  test.each(['refuse', 'clamp'] as const)(
    'refuses for that long, and does not extend the block (%s)',
    async (overflow) => {
      const { meter, clock } = open({ blockWhenFull: '1m', overflow })
      await meter.fill('k', 10)
      expect(await meter.level('k')).toMatchObject({ blocked: false })
      expect(await meter.fill('k')).toMatchObject({ accepted: false, blocked: true, retryAfterMs: 60_000 })
      await clock.advance(30 * SECOND)
      expect(await meter.canAccept('k', 0)).toBe(false)
      expect(await meter.fill('k')).toMatchObject({
        blocked: true,
        level: 0,
        space: 10,
        retryAfterMs: 30_000,
      })
      await clock.advance(30 * SECOND - 1)
      expect(await meter.fill('k')).toMatchObject({ accepted: false, retryAfterMs: 1 })
      await clock.advance(1)
      expect(await meter.fill('k')).toMatchObject({ accepted: true, blocked: false, level: 1 })
    },
  )

  test('returns the wait for the block and for room', async () => {
    const { meter, clock } = open({ limits: { '*': '10, 1/m' }, blockWhenFull: '90s' })
    await meter.fill('k', 10)
    const { retryAfterMs } = await meter.fill('k', 3)
    expect(retryAfterMs).toBe(180_000)
    await clock.advance(retryAfterMs * MILLISECOND)
    expect(await meter.fill('k', 3)).toMatchObject({ accepted: true })
  })

  test('accepts immediately after a drain', async () => {
    const { meter } = open({ blockWhenFull: '1h' })
    await meter.fill('k', 11)
    expect(await meter.level('k')).toMatchObject({ blocked: true, level: 0 })
    await meter.drain('k')
    expect(await meter.fill('k', 10)).toMatchObject({ accepted: true })
  })
})

test('a change in the rule book of a shaper applies to the next fill', async () => {
  const { clock } = open()
  const shaper = new Shaper('s', { limits: { '*': '10, 1/s' }, clock })
  onTestFinished(() => shaper.close())
  const { meter } = open({ limits: shaper.limits, clock })
  await meter.fill('k', 8)
  await shaper.limits.set('*', '5, 10/s')
  expect(await meter.fill('k', 0)).toMatchObject({
    accepted: false,
    level: 8,
    space: 0,
    full: true,
    capacity: 5,
  })
  await clock.advance(400 * MILLISECOND)
  expect(await meter.fill('k')).toMatchObject({ accepted: true, level: 5, retryAfterMs: 0 })
})

describe('the clock of the store', () => {
  const TEN = { limits: { '*': '10, 1/s' } }

  /** Whose time is what the test says. */
  function openAt(): { meter: Meter; at: { now: number } } {
    const at = { now: 1_000 * MINUTE }
    const store = new MemoryMeterStore({ now: () => at.now, wake: () => () => undefined })
    return { meter: new Meter('test', { ...TEN, store }), at }
  }

  test('that goes back by less than a minute stops the leak until it has caught up', async () => {
    const { meter, at } = openAt()
    await meter.fill('k', 10)
    at.now -= 30 * SECOND
    expect(await meter.fill('k')).toMatchObject({ accepted: false, retryAfterMs: 31_000, emptyInMs: 40_000 })
    at.now += 31 * SECOND
    expect(await meter.fill('k')).toMatchObject({ accepted: true })
  })

  test('that goes back by more recovers immediately', async () => {
    const { meter, at } = openAt()
    await meter.fill('k', 10)
    at.now -= HOUR / 4
    expect(await meter.fill('k')).toMatchObject({ accepted: false, retryAfterMs: 1_000, emptyInMs: 10_000 })
    at.now += SECOND
    expect(await meter.canAccept('k')).toBe(true)
    expect(await meter.fill('k')).toMatchObject({ accepted: true })
  })
})

test('publishes the outcome of each fill', async () => {
  const outcomes: FillOutcome[] = []
  onTestFinished(
    meterFillings.subscribe(({ meter, outcome }) => void (meter === 'test' && outcomes.push(outcome))),
  )
  const { meter, clock } = open({ blockWhenFull: '1m' })
  for (const amount of [10, 1, 1, 11]) {
    await meter.fill('k', amount)
    await clock.advance(1)
  }
  const { meter: patient } = open()
  for (const amount of [10, 1, 11]) await patient.fill('k', amount)
  expect(outcomes).toEqual(['accepted', 'full', 'blocked', 'never-fits', 'accepted', 'full', 'never-fits'])
})

describe('closed', () => {
  test('every verb throws', async () => {
    const { meter } = open()
    await meter.close()
    await meter.close()
    for (const verb of ['fill', 'canAccept', 'level', 'drain'] as const) {
      await expect(meter[verb]('k')).rejects.toThrow(MeterClosedError)
    }
    await expect(meter.fill('')).rejects.toMatchObject({ code: 'closed' })
  })

  test('it closes its own store, and not a given one', async () => {
    let closed = 0
    const memory = new MemoryMeterStore(new VirtualClock())
    const store: MeterStore = {
      fill: (request) => memory.fill(request),
      read: (meter) => memory.read(meter),
      drain: (meter) => memory.drain(meter),
      close: async () => void closed++,
    }
    {
      await using one = new Meter('test', { limits: { '*': '10, 1/s' }, store })
      await using other = new Meter('test', { limits: { '*': '10, 1/s' }, store })
      await one.fill('k', 4)
      expect((await other.fill('k', 4)).level).toBe(8)
    }
    expect(closed).toBe(0)
  })
})
