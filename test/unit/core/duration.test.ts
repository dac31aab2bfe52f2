import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  DAY,
  formatDuration,
  HOUR,
  MINUTE,
  parseCount,
  parseDuration,
  SECOND,
} from '../../../src/core/duration.ts'
import { InvalidLimitError } from '../../../src/core/errors.ts'

test.each([
  ['250ms', 250_000],
  ['1.5s', 1.5 * SECOND],
  ['15 minutes', 15 * MINUTE],
  ['1m30s', 90 * SECOND],
  [' 1 h 30 min ', 90 * MINUTE],
  ['minute', MINUTE],
  ['2 Days', 2 * DAY],
  ['1_000 ms', SECOND],
  ['0.001ms', 1],
  ['PT1M30S', 90 * SECOND],
  ['P1DT2H', DAY + 2 * HOUR],
  ['PT0.25S', 250_000],
  ['366d', 366 * DAY],
])('parses %j', (text, duration) => {
  expect(parseDuration(text)).toBe(duration)
})

test.each([
  ['', 'expected a duration such as 250ms'],
  ['5', 'expected a duration such as'],
  ['5 parsecs', 'got: "5 parsecs"'],
  ['1m s', 'got: "1m s"'],
  ['1m 30', 'got: "1m 30"'],
  ['-5s', 'got: "-5s"'],
  ['5M', 'in "5M": M may mean minute or month, write m for minutes'],
  ['0s', 'expected a duration above 0 and at most 366 days, got: "0s"'],
  ['367d', 'expected a duration above 0 and at most 366 days'],
  ['0.0015ms', 'expected a duration of whole microseconds, got: "0.0015ms"'],
  ['P1Y', 'expected a duration such as'],
  ['P', 'expected a duration above 0'],
])('rejects %j with a clear error', (text, message) => {
  const read = () => parseDuration(text)
  expect(read).toThrow(InvalidLimitError)
  expect(read).toThrow(
    expect.objectContaining({ code: 'invalid-limit', message: expect.stringContaining(message) }),
  )
})

test.each([
  [2 * DAY, '2d'],
  [36 * HOUR, '36h'],
  [90 * MINUTE, '90m'],
  [90 * SECOND, '90s'],
  [250_000, '250ms'],
  [1_500, '1.5ms'],
  [1, '0.001ms'],
])('formats %d microseconds as %j', (duration, text) => {
  expect(formatDuration(duration)).toBe(text)
})

test('a duration survives formatting and parsing', () => {
  const whole = fc.integer({ min: 1, max: HOUR })
  const property = fc.property(whole, (duration) => {
    expect(parseDuration(formatDuration(duration))).toBe(duration)
  })
  fc.assert(property)
})

test('a count may contain underscores between its digits', () => {
  expect(parseCount('1_000.5')).toBe(1_000.5)
})
