import { describe, expect, onTestFinished, test } from 'vitest'
import { type FillOutcome, meterFillings } from '../../../src/core/diagnostics.ts'
import { HOUR, MILLISECOND, MINUTE, SECOND } from '../../../src/core/duration.ts'
import {
  ForeignValueError,
  InvalidLimitError,
  InvalidOptionsError,
  isVelvetRopeError,
  UnknownUnitError,
} from '../../../src/core/errors.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import { Shaper } from '../../../src/index.ts'
import { MemoryMeterStore } from '../../../src/meter/memory-meter-store.ts'
import { Meter, type MeterOptions, type MeterStore } from '../../../src/meter.ts'

const LLM = '10, 10/s, 5/minute, 100 tokens/minute 20 each'

function open(options: Partial<MeterOptions> = {}): { meter: Meter; clock: VirtualClock } {
  const clock = new VirtualClock(1_000 * MINUTE)
  const meter = new Meter('test', { limits: { '*': LLM, plain: '10, 10/s' }, clock, ...options })
  onTestFinished(() => meter.close())
  return { meter, clock }
}

describe('a fill with named costs', () => {
  test('returns what each quota counts', async () => {
    const { meter } = open()
    const reading = await meter.fill('k', 2, { tokens: 70 })
    expect(reading).toEqual({
      accepted: true,
      level: 2,
      space: 8,
      full: false,
      blocked: false,
      retryAfterMs: 0,
      emptyInMs: 200,
      capacity: 10,
      intervalMs: 100,
      pattern: '*',
      quotas: [
        { quota: '5/minute', amount: 5, used: 2, windowMs: 60_000, roomInMs: 0 },
        { quota: '100 tokens/minute', unit: 'tokens', amount: 100, used: 70, windowMs: 60_000, roomInMs: 0 },
      ],
    })
  })

  test('is of one unit where it says nothing else, and of what the limit says in units that it does not name', async () => {
    const { meter } = open()
    const used = async () => (await meter.level('k')).quotas?.map((quota) => quota.used)
    await meter.fill('k', { tokens: 7 })
    expect(await used()).toEqual([1, 7])
    await meter.fill('k')
    expect(await used()).toEqual([2, 27])
    await meter.fill('k', 0)
    expect(await used()).toEqual([2, 27])
    await meter.fill('k', 0, { tokens: 3 })
    expect(await used()).toEqual([2, 30])
    await meter.fill('k', {})
    expect(await used()).toEqual([3, 50])
  })

  test('is refused with the quota and the time that it has to wait for, and charged nothing', async () => {
    const { meter, clock } = open()
    await meter.fill('k', { tokens: 90 })
    const before = await meter.level('k')
    const refused = await meter.fill('k', { tokens: 30 })
    expect(refused).toMatchObject({
      accepted: false,
      pattern: '*',
      retryAfterMs: 61_000,
      refusedBy: { quota: '100 tokens/minute', unit: 'tokens' },
    })
    expect(await meter.level('k')).toEqual(before)
    expect(await meter.canAccept('k', { tokens: 30 })).toBe(false)
    expect(await meter.canAccept('k', { tokens: 10 })).toBe(true)
    expect(await meter.level('k', 5, { tokens: 1 })).toMatchObject({ accepted: false })
    await clock.advance(61_000 * MILLISECOND)
    expect(await meter.level('k', { tokens: 30 })).toMatchObject({ accepted: true })
    expect((await meter.fill('k', { tokens: 30 })).accepted).toBe(true)
  })

  test('of an unnamed quota names that without a unit; of the bucket none', async () => {
    const { meter } = open()
    for (let n = 0; n < 5; n++) await meter.fill('k', { tokens: 1 })
    expect((await meter.fill('k', { tokens: 1 })).refusedBy).toEqual({ quota: '5/minute' })
    const small = open({ limits: { '*': '2, 1/h, 50/day' } }).meter
    await small.fill('k', 2)
    const refused = await small.fill('k')
    expect(refused).toMatchObject({ accepted: false, retryAfterMs: 3_600_000 })
    expect(refused).not.toHaveProperty('refusedBy')
  })

  test('above a whole quota is never accepted, and says which', async () => {
    const { meter } = open()
    expect(await meter.fill('k', { tokens: 101 })).toMatchObject({
      accepted: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
      refusedBy: { quota: '100 tokens/minute', unit: 'tokens' },
    })
  })

  test('says when a quota without room has some', async () => {
    const { meter } = open()
    await meter.fill('k', { tokens: 90 })
    const [requests, tokens] = (await meter.level('k')).quotas!
    expect(requests!.roomInMs).toBe(0)
    // Twenty, as one that says nothing counts.
    expect(tokens!.roomInMs).toBe(61_000)
  })

  test('is published with its costs, and a quota that refused it', async () => {
    const { meter, clock } = open({ blockWhenFull: '1h' })
    const seen: [FillOutcome, unknown][] = []
    onTestFinished(meterFillings.subscribe(({ outcome, costs }) => void seen.push([outcome, costs])))
    await meter.fill('k', { tokens: 101 })
    await clock.advance(HOUR)
    await meter.fill('k', { tokens: 90 })
    await meter.fill('k', 1, { tokens: 11 })
    await clock.advance(SECOND)
    await meter.fill('k', { tokens: 1 })
    const { meter: other } = open()
    await other.fill('k', { tokens: 90 })
    await other.fill('k')
    expect(seen).toEqual([
      ['never-fits', { tokens: 101 }],
      ['accepted', { tokens: 90 }],
      ['full', { tokens: 11 }],
      ['blocked', { tokens: 1 }],
      ['accepted', { tokens: 90 }],
      ['quota', undefined],
    ])
  })

  test('counts nothing any more once the key is drained', async () => {
    const { meter } = open()
    await meter.fill('k', { tokens: 100 })
    await meter.drain('k')
    expect((await meter.level('k')).quotas?.map(({ used }) => used)).toEqual([0, 0])
    expect((await meter.fill('k', { tokens: 100 })).accepted).toBe(true)
  })
})

describe('bad input', () => {
  const bad = [-1, 0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 1e9 + 1, '7', null, undefined, {}, 7n]

  test.each(bad)('costs of %s are rejected by each verb with a clear error', async (tokens) => {
    const { meter } = open()
    const costs = { tokens } as unknown as Record<string, number>
    for (const verb of ['fill', 'canAccept', 'level'] as const) {
      const call = meter[verb]('k', 1, costs)
      await expect(call).rejects.toThrow(InvalidOptionsError)
      await expect(call).rejects.toThrow(`${verb}: expected costs.tokens to be`)
    }
    expect((await meter.level('k')).quotas?.map(({ used }) => used)).toEqual([0, 0])
  })

  test.each<[unknown, string]>([
    [null, 'costs'],
    [[5], 'costs'],
    ['tokens', 'costs'],
    [JSON.parse('{"__proto__": 5}'), '__proto__'],
    [JSON.parse('{"tokens": 5, "__proto__": 5}'), '__proto__'],
    [{ '': 5 }, 'a name of 1 to 32 letters'],
    [{ 'a b': 5 }, 'a name of 1 to 32 letters'],
    [{ ['x'.repeat(33)]: 5 }, 'a name of 1 to 32 letters'],
    [Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`u${n}`, 1])), 'with at most 8 units'],
  ])('costs are rejected: case %#', async (costs, message) => {
    const { meter } = open()
    const call = meter.fill('k', 1, costs as Record<string, number>)
    await expect(call).rejects.toThrow(InvalidOptionsError)
    await expect(call).rejects.toThrow(message)
  })

  test('an unknown unit is an error', async () => {
    const { meter } = open()
    for (const key of ['k', 'plain']) {
      const error: unknown = await meter.fill(key, { token: 5 }).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(UnknownUnitError)
      expect(error).toMatchObject({ key, unit: 'token', units: key === 'k' ? ['tokens'] : [] })
      await expect(meter.canAccept(key, { token: 5 })).rejects.toThrow(UnknownUnitError)
    }
  })

  test.each(['constructor', 'toString', 'hasOwnProperty'])(
    'no unit is named %s, as what every object has',
    async (unit) => {
      const { meter } = open()
      await expect(meter.fill('k', { [unit]: 5 })).rejects.toThrow(InvalidOptionsError)
      await expect(meter.canAccept('k', { [unit]: 5 })).rejects.toThrow('a name of 1 to 32 letters')
    },
  )

  test('an amount that a quota counts is whole', async () => {
    const { meter } = open()
    await expect(meter.fill('k', 0.5)).rejects.toThrow(
      'fill: expected amount to be a whole number, because the quota 5/minute counts it, got: 0.5',
    )
    expect((await meter.fill('plain', 0.5)).accepted).toBe(true)
    const { meter: named } = open({ limits: { '*': '10, 10/s, 9 tokens/minute 1 each' } })
    expect((await named.fill('k', 0.5)).accepted).toBe(true)
    expect(await meter.fill('k', 1e300)).toMatchObject({
      accepted: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })

  test('costs stand alone or behind an amount', async () => {
    const { meter } = open()
    const twice = meter.fill('k', { tokens: 1 } as unknown as number, { tokens: 1 })
    await expect(twice).rejects.toThrow('expected amount to be a number of units')
  })
})

describe('a limit that a meter cannot count', () => {
  test.each(['9, 1/s, 5 at once', '9, 1/s, 5/day, 5 at once'])('%s is refused with a hint', async (limit) => {
    const birth = () => open({ limits: { '*': limit } })
    expect(birth).toThrow(InvalidLimitError)
    expect(birth).toThrow('got: "5 at once" as well: a meter does not learn when something ends')
    const shaper = new Shaper('s', { limits: { '*': limit } })
    onTestFinished(() => shaper.close())
    await expect(open({ limits: shaper.limits }).meter.fill('k')).rejects.toThrow('tryAcquire')
  })

  test('what only a queue can keep is refused, also behind a quota', () => {
    for (const limit of ['9, 1/s, 5/day, tolerance 5ms', '9, 1/s, tolerance 5ms, 5/day']) {
      expect(() => open({ limits: { '*': limit } })).toThrow('got: "tolerance 5ms" as well')
    }
    const warm = { capacity: 9, rate: '1/s', quotas: ['5/day'], warmUp: '9s' } as const
    expect(() => open({ limits: { '*': warm } })).toThrow('got: "warmUp" as well')
  })

  test('a store without quotas refuses it: at once, or with the first fill where the book is elsewhere', async () => {
    const inner = new MemoryMeterStore(new VirtualClock())
    const store: MeterStore = {
      fill: (request) => inner.fill(request),
      read: (meter) => inner.read(meter),
      drain: (meter) => inner.drain(meter),
      close: () => inner.close(),
    }
    const expected =
      'the store of the meter "m" counts no quotas: expected the limit of "*" to be a capacity and a rate'
    expect(() => new Meter('m', { limits: { '*': LLM }, store })).toThrow(expected)
    const limits = { resolve: () => ({ pattern: '*', limit: LLM }) }
    const meter = new Meter('m', { limits, store })
    await expect(meter.fill('k')).rejects.toThrow(expected)
    await expect(meter.fill('k')).rejects.toThrow(InvalidLimitError)
    await expect(meter.level('k')).rejects.toThrow(expected)
    expect(inner.size).toBe(0)
  })
})

test('the rule book of a shaper is followed with its quotas, live', async () => {
  const shaper = new Shaper('s', { limits: { '*': '9, 9/s, tolerance 2ms' } })
  onTestFinished(() => shaper.close())
  const { meter } = open({ limits: shaper.limits })
  expect(await meter.fill('k', 2)).not.toHaveProperty('quotas')
  await shaper.limits.set('*', '9, 9/s, 3/minute')
  await meter.fill('k', 2)
  await shaper.limits.set('*', '9, 9/s, 4/hour')
  expect(await meter.fill('k', 3)).toMatchObject({
    refusedBy: { quota: '4/hour' },
    quotas: [{ quota: '4/hour', used: 2 }],
  })
})

describe('a store of a user', () => {
  const FILLED = { accepted: true, state: { level: 1, at: 5, blockedUntil: 0, interval: SECOND }, now: 5 }
  const counted = (uses: unknown, quotas: unknown = [{}, {}]) => ({
    ...FILLED,
    state: { ...FILLED.state, counted: { quotas, uses } },
  })
  const answering = (answer: unknown) => {
    const verb = async () => answer
    const store = { fill: verb, read: verb, drain: verb, close: verb, quotas: { fill: verb, read: verb } }
    return new Meter('test', { limits: { '*': LLM }, store: store as unknown as MeterStore })
  }
  const use = { ends: [6], used: [1] }

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'to return an object'],
    ['a level alone', FILLED, 'to return what the quotas count'],
    [
      'quotas that are no object',
      { ...FILLED, state: { ...FILLED.state, counted: 5 } },
      'counted as an object',
    ],
    ['as many as another limit has', counted([use], [{}]), 'what 2 quotas count'],
    ['fewer uses than quotas', counted([use]), 'as many uses as quotas'],
    ['a use that is nothing', counted([use, null]), 'as many ends as used'],
    ['ends without numbers', counted([use, { ends: [6], used: [] }]), 'as many ends as used'],
    ['what is no number', counted([use, { ends: [6], used: [Number.NaN] }]), 'as many ends as used'],
  ])('that returns %s lets nothing through', async (_, answer, message) => {
    const meter = answering(answer)
    await expect(meter.fill('k')).rejects.toThrow(ForeignValueError)
    await expect(meter.fill('k')).rejects.toThrow(message)
  })

  test('counts quotas with the algorithm of this package', async () => {
    const clock = new VirtualClock(1_000 * MINUTE)
    const { meter } = open({ clock })
    const users = new Meter('users', { limits: { '*': LLM }, store: new MemoryMeterStore(clock) })
    for (const tokens of [50, 60, 40, 20, 5]) {
      expect(await users.fill('k', { tokens })).toEqual(await meter.fill('k', { tokens }))
    }
    expect(await users.level('k', { tokens: 6 })).toEqual(await meter.level('k', { tokens: 6 }))
  })
})

test('in memory what is over is forgotten, and its share of the heap given back', async () => {
  const clock = new VirtualClock(1_000 * MINUTE)
  const store = new MemoryMeterStore(clock)
  const meter = new Meter('m', { limits: { '*': '10, 10/s, 5/minute', plain: '10, 10/s' }, store })
  await meter.fill('plain')
  const plain = store.use.sum().bytes
  await meter.fill('a')
  expect(store.use.sum().bytes).toBeGreaterThan(2 * plain)
  await clock.advance(30 * SECOND)
  expect(store.size).toBe(1)
  await meter.fill('a')
  await clock.advance(2 * MINUTE)
  expect(store.size).toBe(0)
  expect(store.use.sum()).toEqual({ bytes: 0, segments: 0 })
})

test('errors of a meter with quotas have codes', async () => {
  const { meter } = open()
  const error: unknown = await meter.fill('k', { token: 1 }).catch((thrown: unknown) => thrown)
  expect(isVelvetRopeError(error, 'unknown-unit')).toBe(true)
})
