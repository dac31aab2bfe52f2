import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reconnectDelayMs, restMsAfter } from '../../../src/dashboard/page/data/ask-again.ts'
import { parseDuration, writeDuration } from '../../../src/dashboard/page/data/duration.ts'
import {
  formatAgo,
  formatCountdown,
  formatPercent,
  formatRate,
  formatRatio,
  formatShort,
  formatSpan,
  formatTotal,
} from '../../../src/dashboard/page/data/format.ts'
import { shortened, visibleText } from '../../../src/dashboard/page/data/shown-text.ts'

describe('numbers on the page', () => {
  test('are short', () => {
    expect(
      [0, 999, 12_345, 99_999, 99_999.6, 123_456, 999_499, 999_500, 1_234_567, 2.5e9].map(formatShort),
    ).toEqual(['0', '999', '12,345', '99,999', '100k', '123k', '999k', '1M', '1.23M', '2.5G'])
    fc.assert(fc.property(fc.integer({ min: 0, max: 1e12 }), (count) => formatShort(count).length <= 6))
  })

  test('of rates keep what matters', () => {
    expect([0, 0.25, 0.999, 9.96, 99.94, 99.96, 2_500].map(formatRate)).toEqual([
      '0',
      '0.25',
      '1.0',
      '10.0',
      '99.9',
      '100',
      '2,500',
    ])
  })

  test('of shares never say nothing or all where it is not', () => {
    expect([0, 0.001, 0.009, 0.29, 0.5, 0.899, 0.99, 0.999, 1, 1.019, 1.2].map(formatPercent)).toEqual([
      '0%',
      '<1%',
      '<1%',
      '29%',
      '50%',
      '89%',
      '99%',
      '99%',
      '100%',
      '101%',
      '120%',
    ])
  })

  test('say that there may be more', () => {
    expect(formatTotal(1_000, true)).toBe('1,000+')
    expect(formatTotal(42)).toBe('42')
  })

  test('of gaps show the beat', () => {
    expect([1, 0.984, 12.34, 123_456].map(formatRatio)).toEqual(['1.00', '0.98', '12.3', '123k'])
  })
})

describe('times on the page', () => {
  test('have two units at most', () => {
    const spans = [-5, 0, 849.6, 4_200, 59_940, 59_999, 65_000, 3_599_999, 3_600_000, 11_520_000, 187_200_000]
    expect(spans.map(formatSpan)).toEqual([
      '0 ms',
      '0 ms',
      '850 ms',
      '4.2 s',
      '59.9 s',
      '59.9 s',
      '1m 05s',
      '59m 59s',
      '1h 00m',
      '3h 12m',
      '2d 04h',
    ])
    expect(formatCountdown(-1)).toBe('now')
    expect([0, 1_600, 61_000, 7_200_000, 2e8].map(formatAgo)).toEqual([
      'just now',
      '1 s ago',
      '1m ago',
      '2h ago',
      '2d ago',
    ])
  })

  test('are read as they are written', () => {
    expect(parseDuration('1h30m')).toBe(5_400_000)
    expect(parseDuration(' 250 MS ')).toBe(250)
    expect(parseDuration('1.5s')).toBe(1_500)
    expect(['', '5', 's', '5 parsecs', '0s', '-1s', '1s!'].map(parseDuration)).toEqual(
      Array(7).fill(undefined),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e12 }), (ms) => {
        expect(parseDuration(writeDuration(ms))).toBe(ms)
      }),
    )
  })

  test('between attempts grow, up to a quarter of a minute, and differ', () => {
    expect([1, 2, 3].map((failures) => reconnectDelayMs(failures, 1))).toEqual([500, 1_000, 2_000])
    expect(reconnectDelayMs(1, 0)).toBe(250)
    expect(reconnectDelayMs(40, 1)).toBe(15_000)
  })
})

describe('text of others', () => {
  test('hides nothing, and turns nothing around', () => {
    expect(visibleText('a\u202Eb\u200Bc\u0007')).toBe(String.raw`a\u{202e}b\u{200b}c\u{7}`)
    expect(visibleText('größe/日本/<b>')).toBe('größe/日本/<b>')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visibleText(text)).not.toMatch(/[\p{Control}\p{Format}\p{Surrogate}]/u)
      }),
    )
  })

  test('loses its middle when it is long', () => {
    expect(shortened('abcdefghij', 10)).toBe('abcdefghij')
    expect(shortened('abcdefghijk', 6)).toBe('abc…jk')
    expect(shortened('😀😀😀😀😀', 3)).toBe('😀…😀')
  })
})

test('the page rests nine times as long as an answer took, and half a minute at most', () => {
  expect(restMsAfter(10, 1_500)).toBe(1_500)
  expect(restMsAfter(1_000, 1_500)).toBe(9_000)
  expect(restMsAfter(600_000, 1_500)).toBe(30_000)
})
