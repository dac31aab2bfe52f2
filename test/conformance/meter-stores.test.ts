import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../src/core/duration.ts'
import {
  EMPTY,
  fill,
  forgottenAt,
  levelAt,
  type MeterFill,
  type MeterState,
  stateAt,
} from '../../src/core/meter.ts'
import type { MeterStore, Reading } from '../../src/meter/meter-store.ts'
import { METER_STORES, type OpenedMeterStore, type OpenMeterStore } from '../support/meter-drivers.ts'
import { waitForEachAnswer } from '../support/patience.ts'

const T0 = 1_800_000_000_000_000
const TEN: MeterFill = { amount: 1, capacity: 10, interval: SECOND, clamp: false, block: 0 }
const METER = { name: 'test', key: 'k' }
const of = (level: number, at = T0, blockedUntil = 0, interval = SECOND): MeterState => ({
  level,
  at,
  blockedUntil,
  interval,
})

async function opened(open: OpenMeterStore): Promise<MeterStore> {
  return (await openedWithTime(open)).store
}

async function openedWithTime(open: OpenMeterStore): Promise<OpenedMeterStore> {
  const opened = await open()
  onTestFinished(() => opened.store.close())
  return opened
}

/** What need not be remembered may be forgotten, or kept. */
function expectReading({ state = EMPTY, now }: Reading, expected: MeterState): void {
  expect(stateAt(state, now)).toEqual(stateAt(expected, now))
}

describe.each(METER_STORES)('a store of meters: %s', (name, open) => {
  if (name === 'postgres' || name === 'pglite') waitForEachAnswer()

  test('keeps nothing for a meter that was never filled', async () => {
    const store = await opened(open)
    expect(await store.read(METER, T0)).toEqual({ state: undefined, now: T0 })
    await store.drain(METER)
    expect(await store.fill({ ...METER, ...TEN, amount: 0 }, T0)).toMatchObject({ accepted: true, now: T0 })
    expect(await store.fill({ ...METER, ...TEN, amount: 11 }, T0)).toMatchObject({ accepted: false })
    expectReading(await store.read(METER, T0), EMPTY)
  })

  test('fills, leaks, and rejects what does not fit', async () => {
    const store = await opened(open)
    const request = { ...METER, ...TEN }
    const full = { accepted: true, state: of(10), now: T0 }
    expect(await store.fill({ ...request, amount: 10 }, T0)).toEqual(full)
    expect(await store.fill(request, T0 + 1)).toEqual({ accepted: false, state: of(10), now: T0 + 1 })
    expect(await store.read(METER, T0 + 1)).toEqual({ state: of(10), now: T0 + 1 })
    const later = T0 + 2.5 * SECOND
    expect(await store.fill(request, later)).toEqual({ accepted: true, state: of(8.5, later), now: later })
    expect(await store.read(METER, later)).toEqual({ state: of(8.5, later), now: later })
  })

  test('fills to the brim when asked to, and blocks', async () => {
    const store = await opened(open)
    const request = { ...METER, ...TEN, amount: 11, clamp: true }
    expect(await store.fill(request, T0)).toEqual({ accepted: false, state: of(10), now: T0 })
    const blocking = { ...METER, ...TEN, block: HOUR }
    const blocked = of(10, T0, T0 + HOUR)
    expect(await store.fill(blocking, T0)).toEqual({ accepted: false, state: blocked, now: T0 })
    const last = T0 + HOUR - 1
    expect(await store.fill(blocking, last)).toEqual({ accepted: false, state: blocked, now: last })
    expect(await store.fill({ ...blocking, amount: 0 }, last)).toMatchObject({ accepted: false })
    expect((await store.read(METER, last)).state).toEqual(blocked)
    const over = T0 + HOUR
    expect(await store.fill(blocking, over)).toMatchObject({ accepted: true, state: { level: 1, at: over } })
  })

  test('blocks an empty meter, too', async () => {
    const store = await opened(open)
    const blocked = of(0, T0, T0 + MINUTE)
    expect(await store.fill({ ...METER, ...TEN, amount: 11, block: MINUTE }, T0)).toMatchObject({
      accepted: false,
      state: blocked,
    })
    expect((await store.read(METER, T0 + 1)).state).toEqual(blocked)
  })

  test('drains, and lifts a block with it', async () => {
    const store = await opened(open)
    await store.fill({ ...METER, ...TEN, amount: 11, clamp: true, block: HOUR }, T0)
    await store.drain(METER)
    expect((await store.read(METER, T0)).state).toBeUndefined()
    expect(await store.fill({ ...METER, ...TEN, amount: 10 }, T0)).toMatchObject({ accepted: true })
  })

  test('corrects a level that is more than a minute ahead, also with a rejected fill', async () => {
    const store = await opened(open)
    await store.fill({ ...METER, ...TEN, amount: 10 }, T0)
    const near = T0 - MINUTE
    expect(await store.fill({ ...METER, ...TEN }, near)).toEqual({
      accepted: false,
      state: of(10),
      now: near,
    })
    const far = T0 - HOUR
    expect((await store.fill({ ...METER, ...TEN }, far)).state).toEqual(of(10, far))
    expect((await store.read(METER, far)).state).toEqual(of(10, far))
    expect(await store.fill({ ...METER, ...TEN }, far + SECOND)).toMatchObject({ accepted: true })
  })

  test('has a clock of its own, for callers that pass no time', async () => {
    const store = await opened(open)
    const { now: first, state } = await store.fill({ ...METER, ...TEN, interval: HOUR })
    expect(state).toEqual(of(1, first, 0, HOUR))
    const { now: second } = await store.read(METER)
    expect(second).toBeGreaterThanOrEqual(first)
    expect((await store.fill({ ...METER, ...TEN, interval: HOUR })).now).toBeGreaterThanOrEqual(second)
  })

  test('keeps all names and keys apart', async () => {
    const store = await opened(open)
    const texts = [
      'a',
      'A',
      'b',
      'ab',
      'a/b',
      '1:a',
      '*',
      '%',
      '_',
      "o'hara; DROP TABLE",
      '{tag}',
      '\\',
      'é',
      'e\u0301',
      '👩‍🚀',
      'x'.repeat(256),
      'constructor',
      '__proto__',
      ' ',
      'null',
    ]
    const meters = texts.flatMap((name) => texts.map((key) => ({ name, key })))
    for (const [index, meter] of meters.entries()) {
      await store.fill({ ...meter, ...TEN, capacity: 1_000, amount: index + 1 }, T0)
    }
    const levels = await Promise.all(meters.map(async (meter) => (await store.read(meter, T0)).state?.level))
    expect(levels).toEqual(meters.map((_, index) => index + 1))
  })

  test('keeps every bit of a number', async () => {
    const store = await opened(open)
    const numbers = [1e-9, 0.1, 1 / 3, 1e-300, 123_456_789.123_456_79, 1e9]
    for (const [index, amount] of numbers.entries()) {
      const key = `k${index}`
      const now = T0 + 0.25 + index * 0.25
      const state = of(amount, now, 0, 1e6 / 3)
      const request = { name: 'test', key, ...TEN, amount, capacity: 1e9, interval: 1e6 / 3 }
      expect(await store.fill(request, now)).toEqual({ accepted: true, state, now })
      expect(await store.read({ name: 'test', key }, now + 0.25)).toEqual({ state, now: now + 0.25 })
    }
    const most = { ...METER, ...TEN, capacity: 1e9, interval: 366 * 24 * HOUR, block: 366 * 24 * HOUR }
    expect(await store.fill({ ...most, amount: Number.MAX_VALUE, clamp: true }, T0)).toMatchObject({
      accepted: false,
      state: { level: 1e9 },
    })
  })

  test('accepts exactly as many as fit when all come together', async () => {
    const store = await opened(open)
    const fills = Array.from({ length: 200 }, () => store.fill({ ...METER, ...TEN }, T0))
    const verdicts = await Promise.all(fills)
    expect(verdicts.filter(({ accepted }) => accepted)).toHaveLength(10)
    expect((await store.read(METER, T0)).state?.level).toBe(10)
  })

  test('gives the verdicts and levels of the algorithm, bit for bit, on any trace', async () => {
    const store = await opened(open)
    const limit = fc.record({
      capacity: fc.constantFrom(1, 3, 10, 1e6),
      interval: fc.constantFrom(SECOND, 1e6 / 3, 1e6 / 7, 1e-3, HOUR),
    })
    const after = fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 3 * SECOND }),
      fc.integer({ min: 0, max: 2 * HOUR }),
      fc.integer({ min: -2 * MINUTE, max: 0 }),
      fc.integer({ min: 0, max: 400 }).map((quarters) => quarters / 4),
    )
    const step = fc.record({
      verb: fc.constantFrom('fill', 'fill', 'fill', 'fill', 'read', 'drain'),
      key: fc.constantFrom('a', 'b'),
      after,
      limit,
      amount: fc.oneof(fc.double({ min: 0, max: 12, noNaN: true }), fc.constantFrom(0, 0.1, 1, 1, 3, 1e6)),
      clamp: fc.boolean(),
      block: fc.constantFrom(0, 0, 0, SECOND, MINUTE),
    })
    let run = 0
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const name = `run ${++run}`
      const model = new Map<string, MeterState>()
      let now = T0
      for (const { verb, key, after, limit, amount, clamp, block } of steps) {
        now += after
        const before = model.get(key) ?? EMPTY
        if (verb === 'drain') {
          await store.drain({ name, key })
          model.delete(key)
          continue
        }
        if (verb === 'fill') {
          const request = { ...limit, amount, clamp, block }
          const expected = fill(before, request, now)
          expect(await store.fill({ name, key, ...request }, now)).toEqual({ ...expected, now })
          model.set(key, expected.state)
        }
        expectReading(await store.read({ name, key }, now), model.get(key) ?? EMPTY)
      }
    })
    await fc.assert(property, { numRuns: 60 })
  })

  test('forgets no level that still counts, while limits change and its own clock runs', async () => {
    const { store, pass } = await openedWithTime(open)
    const step = fc.record({
      after: fc.oneof(fc.integer({ min: 0, max: 20 * SECOND }), fc.integer({ min: 0, max: 10 * HOUR })),
      interval: fc.constantFrom(SECOND / 100, SECOND, MINUTE, HOUR),
      amount: fc.constantFrom(0, 1, 3, 9.5, 10, 11),
      clamp: fc.boolean(),
      block: fc.constantFrom(0, 0, MINUTE),
    })
    let [run, now] = [0, T0]
    const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const id = { name: `passing ${++run}`, key: 'k' }
      let state = EMPTY
      for (const { after, ...limit } of steps) {
        now += after
        await pass(now, after)
        expectReading(await store.read(id, now), state)
        const request = { ...limit, capacity: 10 }
        const expected = fill(state, request, now)
        expect(await store.fill({ ...id, ...request }, now)).toEqual({ ...expected, now })
        state = expected.state
      }
    })
    await fc.assert(property, { numRuns: 40 })
  })

  test('adjusts a level to a lowered limit, and keeps it long enough', async () => {
    const { store, pass } = await openedWithTime(open)
    const request = { ...METER, ...TEN }
    await store.fill({ ...request, amount: 10 }, T0)
    const lowered = T0 + SECOND
    await pass(lowered, SECOND)
    // Under the slower of the two the second that has passed is nothing, and the fill is refused.
    const kept = of(10 - 1 / 3_600, lowered, 0, HOUR)
    const refused = { accepted: false, state: kept, now: lowered }
    expect(await store.fill({ ...request, interval: HOUR }, lowered)).toEqual(refused)
    const later = lowered + 3 * HOUR
    await pass(later, 3 * HOUR)
    expect((await store.read(METER, later)).state).toEqual(kept)
    expect(levelAt(kept, SECOND, later)).toBeCloseTo(7, 2)
    await pass(Math.ceil(forgottenAt(kept)) + HOUR, 8 * HOUR)
    expect((await store.read(METER, T0 + 12 * HOUR)).state).toBeUndefined()
  })

  test('a limit that is raised for an instant does not make the past leak faster', async () => {
    const store = await opened(open)
    const low = { ...METER, ...TEN, amount: 10, interval: HOUR }
    await store.fill(low, T0)
    let taken = 10
    for (let n = 1; n <= 20; n++) {
      const now = T0 + n * 5 * MINUTE
      if ((await store.fill({ ...low, interval: SECOND / 100 }, now)).accepted) taken += 10
      await store.fill({ ...low, amount: 0 }, now)
    }
    expect(taken).toBe(10)
  })
})
