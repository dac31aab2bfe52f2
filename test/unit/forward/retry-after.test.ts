import { describe, expect, it } from 'vitest'
import { Freezes } from '../../../src/forward/freezes.ts'
import { readRetryAfter } from '../../../src/forward/retry-after.ts'

const NOW = Date.UTC(1994, 10, 6, 8, 49, 7)

describe('Retry-After', () => {
  it.each([
    ['1', 1_000],
    [' 120 ', 120_000],
    ['2.0', 2_000],
    ['0.25', 250],
    ['9999999999', 9_999_999_999_000],
    // The three forms of RFC 9110, 5.6.7.
    ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
    ['Sun Nov  6 08:49:37 1994', 30_000],
    ['Tue, 08 Nov 1994 08:49:07 GMT', 172_800_000],
  ])('%j is %i ms', (text, expected) => {
    expect(readRetryAfter(text, undefined, NOW)).toBe(expected)
  })

  it.each([
    undefined,
    '',
    '0',
    '0.0',
    '-1',
    '+1',
    '1e3',
    '0x10',
    '1,5',
    '1 s',
    'soon',
    'Infinity',
    'NaN',
    '99999999999',
    '1.1234567',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'Sun, 06 Xxx 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:07 GMT',
    'Sat, 05 Nov 1994 08:49:37 GMT',
  ])('%j says nothing', (text) => {
    expect(readRetryAfter(text, undefined, NOW)).toBeUndefined()
  })

  it('is measured from the date of the response, if known: the clocks may differ', () => {
    const until = 'Sun, 06 Nov 1994 08:49:37 GMT'
    expect(readRetryAfter(until, 'Sun, 06 Nov 1994 08:49:35 GMT', NOW)).toBe(2_000)
    expect(readRetryAfter(until, 'yesterday', NOW)).toBe(30_000)
    expect(readRetryAfter('5', 'Sun, 06 Nov 1994 08:49:35 GMT', NOW)).toBe(5_000)
  })
})

describe('a freeze', () => {
  it('is as long as requested, within the bound of the worker and 366 days', () => {
    const freezes = new Freezes(1_000, 60_000)
    expect(freezes.next('k', 250, 0)).toBe(250)
    expect(freezes.next('k', 60_001, 0)).toBe(60_001)
    expect(freezes.next('k', Number.MAX_VALUE, 0)).toBe(366 * 86_400_000)
  })

  it('doubles up to a minute without Retry-After, until a request succeeds', () => {
    const freezes = new Freezes(1_000, 3_600_000)
    let now = 0
    const next = () => {
      const forMs = freezes.next('k', undefined, now)
      now += forMs
      return forMs
    }
    const first = [next(), next(), next(), next(), next(), next(), next(), next()]
    expect(first).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    freezes.succeeded('k')
    expect([next(), next()]).toEqual([1_000, 2_000])
  })

  it('grows up to the maximum, and starts at the given time', () => {
    const short = new Freezes(400, 1_000)
    expect([
      short.next('k', undefined, 0),
      short.next('k', undefined, 400),
      short.next('k', undefined, 2_000),
    ]).toEqual([400, 800, 1_000])
    const long = new Freezes(120_000, 3_600_000)
    expect([long.next('k', undefined, 0), long.next('k', undefined, 200_000)]).toEqual([120_000, 120_000])
  })

  it('counts once for concurrent requests', () => {
    const freezes = new Freezes(1_000, 3_600_000)
    expect([0, 10, 990].map((now) => freezes.next('k', undefined, now))).toEqual([1_000, 990, 10])
    expect(freezes.next('k', undefined, 1_000)).toBe(2_000)
    // The clock was set back by an hour.
    expect(freezes.next('k', undefined, -3_600_000)).toBe(2_000)
  })

  it('is separate for each key', () => {
    const freezes = new Freezes(1_000, 3_600_000)
    freezes.next('a', undefined, 0)
    expect([freezes.next('b', undefined, 1_000), freezes.next('a', undefined, 1_000)]).toEqual([1_000, 2_000])
    freezes.succeeded('b')
    expect(freezes.next('a', undefined, 3_000)).toBe(4_000)
  })

  it('is remembered for the ten thousand keys frozen last', () => {
    const freezes = new Freezes(1_000, 3_600_000)
    for (let index = 0; index <= 10_000; index++) freezes.next(`k${index}`, undefined, 0)
    expect([freezes.next('k1', undefined, 1_000), freezes.next('k0', undefined, 1_000)]).toEqual([
      2_000, 1_000,
    ])
  })
})
