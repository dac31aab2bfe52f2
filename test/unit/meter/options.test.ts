import { describe, expect, test } from 'vitest'
import { HOUR } from '../../../src/core/duration.ts'
import { InvalidKeyError, InvalidOptionsError } from '../../../src/core/errors.ts'
import { VirtualClock } from '../../../src/core/virtual-clock.ts'
import { MemoryMeterStore } from '../../../src/meter/memory-meter-store.ts'
import { Meter } from '../../../src/meter/meter.ts'
import { type MeterOptions, parseMeterOptions } from '../../../src/meter/options.ts'

const limits = { '*': '5, 1/s' }
const connection = 'redis://127.0.0.1:6379'
const clock = new VirtualClock()
const store = new MemoryMeterStore(clock)

describe('options of a meter', () => {
  test('have defaults', () => {
    expect(parseMeterOptions({ limits })).toEqual({ limits, overflow: 'refuse', prefix: 'vr' })
  })

  test.each<Partial<MeterOptions>>([
    { connection, prefix: 'mine' },
    { store },
    { clock },
    { overflow: 'clamp' },
  ])('are accepted: case %#', (given) => {
    expect(parseMeterOptions({ limits, ...given })).toMatchObject(given)
  })

  test('take a duration as text', () => {
    expect(parseMeterOptions({ limits, blockWhenFull: '1h' }).blockWhenFull).toBe(HOUR)
    expect(parseMeterOptions({ limits, blockWhenFull: '90 minutes' }).blockWhenFull).toBe(1.5 * HOUR)
  })

  test.each<[object, RegExp]>([
    [{}, /limits to be a record of pattern and limit.*got: undefined/],
    [{ limits: 5 }, /limits to be a record of pattern and limit.*got: 5/],
    [{ limits, overflow: 'drop' }, /overflow.*got: "drop"/],
    [{ limits, blockWhenFull: '' }, /blockWhenFull to be a duration such as 15m or 1h.*got: ""/],
    [{ limits, blockWhenFull: '400 days' }, /blockWhenFull to be a duration/],
    [{ limits, blockWhenFull: 5_000 }, /blockWhenFull to be a duration such as 15m or 1h.*got: 5000/],
    [{ limits, blockwhenfull: '1h' }, /did you mean blockWhenFull\?/],
    [{ limits, connection: undefined }, /expected connection to be given, or to be left out/],
    [{ limits, store: undefined }, /expected store to be given, or to be left out/],
    [{ limits, store: {} }, /store to be a store with fill\(\), read\(\), drain\(\) and close\(\)/],
    [{ limits, store: 'redis' }, /store to be a store with fill/],
    [{ limits, store: null }, /store to be a store with fill/],
    [{ limits, store, connection }, /expected a connection or a store, got: both/],
    [{ limits, connection, clock }, /the connection has its own clock/],
    [{ limits, store, clock }, /the store has its own clock/],
    [{ limits, prefix: 'a' }, /prefix needs a connection/],
    [{ limits, store, prefix: 'a' }, /prefix needs a connection/],
    [{ limits, connection, prefix: 'a:b' }, /prefix to be letters, digits, _ and -/],
    [{ limits, clock: {} }, /clock/],
  ])('are rejected: case %#', (given, message) => {
    const birth = () => new Meter('name', given as MeterOptions)
    expect(birth).toThrow(InvalidOptionsError)
    expect(birth).toThrow(message)
  })

  test.each(['', 'x'.repeat(257), 'a\nb', '__proto__', 5])('a name is rejected: %j', (name) => {
    expect(() => new Meter(name as string, { limits })).toThrow(InvalidKeyError)
    expect(() => new Meter(name as string, { limits })).toThrow('name of the meter')
  })
})
