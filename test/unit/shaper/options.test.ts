import { describe, expect, test } from 'vitest'
import { parseOptions } from '../../../src/core/options.ts'
import { InvalidOptionsError, Shaper } from '../../../src/index.ts'
import { workOptionsSchema } from '../../../src/line/options.ts'
import { parseShaperOptions } from '../../../src/shaper/options.ts'
import { VirtualClock } from '../../../src/testing.ts'

const limits = { '*': '5, 1/s' }
const connection = 'redis://127.0.0.1:6379'

describe('options of a shared line', () => {
  test('have defaults', () => {
    expect(parseShaperOptions({ limits, connection })).toMatchObject({ connection, prefix: 'vr', shards: 1 })
    expect(parseShaperOptions({ limits, connection }).lookAheadMs).toBeUndefined()
    expect(parseShaperOptions({ limits })).not.toHaveProperty('connection')
  })

  test.each([
    { prefix: 'a' },
    { prefix: `My_app-${'7'.repeat(57)}` },
    { shards: 256 },
    { lookAheadMs: 1 },
    { lookAheadMs: 10_000 },
    { lookAheadMs: 62.5 },
  ])('are taken as they are: %j', (given) => {
    expect(parseShaperOptions({ limits, connection, ...given })).toMatchObject(given)
  })

  test('the largest data are 1 MiB unless it says otherwise, on both kinds of line', () => {
    expect(parseShaperOptions({ limits })).toMatchObject({ maxDataBytes: 1_048_576 })
    expect(parseShaperOptions({ limits, connection, maxDataBytes: 16_777_216 })).toMatchObject({
      maxDataBytes: 16_777_216,
    })
    for (const maxDataBytes of [1_023, 16_777_217, 2_000.5]) {
      expect(() => new Shaper('name', { limits, maxDataBytes })).toThrow(/maxDataBytes/)
    }
  })

  test('a connection is passed on untouched', () => {
    const client = { defineCommand: () => undefined, duplicate: () => undefined }
    expect(parseShaperOptions({ limits, connection: client }).connection).toBe(client)
  })

  test.each<[object, RegExp]>([
    [{ prefix: '' }, /prefix to be letters, digits, _ and -, 1 to 64/],
    [{ prefix: 'a'.repeat(65) }, /prefix/],
    [{ prefix: 'a{b}' }, /prefix/],
    [{ prefix: 'a:b' }, /prefix/],
    [{ prefix: 'é' }, /prefix/],
    [{ prefix: 7 }, /prefix.*7/],
    [{ shards: 0 }, /shards/],
    [{ shards: 257 }, /shards/],
    [{ shards: 1.5 }, /shards/],
    [{ lookAheadMs: 0.5 }, /lookAheadMs/],
    [{ lookAheadMs: 10_001 }, /lookAheadMs/],
    [{ lookAheadMs: Number.NaN }, /lookAheadMs/],
    [{ shard: 2 }, /mean shards\?/],
    [{ lookaheadMs: 2 }, /mean lookAheadMs\?/],
    [{ clock: new VirtualClock() }, /clock of Redis.*clock to be undefined/],
  ])('are refused: %j', (given, message) => {
    const birth = () => new Shaper('name', { limits, connection, ...given })
    expect(birth).toThrow(InvalidOptionsError)
    expect(birth).toThrow(message)
  })

  test.each([{ prefix: 'vr' }, { shards: 1 }, { lookAheadMs: 50 }])(
    'are refused without a connection: %j',
    (given) => {
      const [field] = Object.keys(given)
      const birth = () => new Shaper('name', { limits, ...given })
      expect(birth).toThrow(InvalidOptionsError)
      expect(birth).toThrow(`${field} needs a connection`)
    },
  )

  test('count as absent when they are undefined', () => {
    const nothing = { prefix: undefined, shards: undefined, lookAheadMs: undefined }
    expect(parseShaperOptions({ limits, ...nothing, clock: undefined })).toMatchObject({ prefix: 'vr' })
  })

  test('but a connection that is there and undefined is refused: an address was forgotten', () => {
    expect(() => parseShaperOptions({ limits, connection: undefined })).toThrow(
      /connection to say where Redis is/,
    )
  })
})

describe('options of a worker', () => {
  const parse = (given: object) => parseOptions(workOptionsSchema, given, 'work')

  test('have defaults, and bounds', () => {
    expect(parse({})).toEqual({ concurrency: 100, scheduler: true, leaseMs: 10_000, maxFreezeMs: 3_600_000 })
    for (const given of [{ leaseMs: 500 }, { leaseMs: 600_000 }, { scheduler: false }]) {
      expect(parse(given)).toMatchObject(given)
    }
  })

  test.each<[object, RegExp]>([
    [{ scheduler: 1 }, /scheduler/],
    [{ scheduler: 'no' }, /scheduler/],
    [{ leaseMs: 499 }, /leaseMs/],
    [{ maxFreezeMs: 0 }, /maxFreezeMs/],
    [{ maxFreezeMs: 366 * 86_400_000 + 1 }, /maxFreezeMs/],
    [{ leaseMs: 600_001 }, /leaseMs/],
    [{ leaseMs: 1_000.5 }, /leaseMs/],
    [{ leaseMS: 1_000 }, /mean leaseMs\?/],
  ])('are refused: %j', (given, message) => {
    expect(() => parse(given)).toThrow(InvalidOptionsError)
    expect(() => parse(given)).toThrow(message)
  })

  test('of shared lines make no difference to a line in memory', async () => {
    await using shaper = new Shaper('name', { limits })
    expect(shaper.work(() => 0, { scheduler: false, leaseMs: 500 })).toMatchObject({
      concurrency: 100,
      running: 0,
    })
  })
})
