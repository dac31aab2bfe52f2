import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { readStayAway } from '../../../src/forward/retry-after.ts'
import { scanJson } from '../../../src/http/json-scan.ts'
import { pureMachine } from '../machine.ts'
import { oddNumber, oddText } from '../odd-values.ts'

const NOW = Date.UTC(2026, 1, 3, 4, 5, 6)
const number = fc.oneof(oddNumber.map(String), fc.integer({ min: 0, max: 5_000 }).map(String))
const date = fc.oneof(
  fc.date({ noInvalidDate: true }).map((at) => at.toUTCString()),
  fc.constantFrom(
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    'Sun, 99 Nov 2026 99:99:99 GMT',
  ),
  oddText,
)
const parameter = fc.tuple(
  fc.constantFrom('r', 't', 'R', 'w', '*', ' r'),
  fc.constantFrom('=', ' = ', ''),
  fc.oneof(number, fc.constantFrom('?1', '?0', '"x"', ':AA==:', '@1', '%"e"', '-0', '1.', '.5')),
)
const item = fc
  .tuple(
    fc.constantFrom('"hourly"', 'daily', '"a\\"b"', '("a" "b")', '?1', '1', ':cHJldGVuZA==:', ''),
    fc.array(parameter, { maxLength: 4 }),
  )
  .map(([name, parameters]) => [name, ...parameters.map((parts) => parts.join(''))].join(';'))
const field = fc.oneof(
  fc.array(item, { maxLength: 4 }).map((items) => items.join(', ')),
  oddText,
)
const NAMES = [
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-rate-limit-remaining',
  'x-rate-limit-reset',
] as const

const headers = fc.record(
  {
    ratelimit: field,
    'retry-after': fc.oneof(number, date),
    date,
    ...(Object.fromEntries(NAMES.map((name) => [name, fc.oneof(number, oddText)])) as Record<
      (typeof NAMES)[number],
      fc.Arbitrary<string>
    >),
  },
  { requiredKeys: [] },
)

/** What an answer of a third party says about coming back: a time above 0, or nothing; never an error. */
export const answers = pureMachine(
  { name: 'headers of answers', inputs: headers, few: 3_000, share: 10 },
  (given) => {
    const found = new Map<string, string>(Object.entries(given))
    const ms = readStayAway((name) => found.get(name), NOW)
    ok(ms === undefined || (ms > 0 && !Number.isNaN(ms)), `stay away for ${ms}`)
  },
)

const json = fc.oneof(
  fc.json(),
  fc
    .array(fc.oneof(fc.bigInt().map(String), number), { maxLength: 4 })
    .map((numbers) => `[${numbers.join(',')}]`),
  fc.tuple(oddText, fc.bigInt()).map(([text, big]) => `{${JSON.stringify(text)}:${big}}`),
)

/** Integers that a double cannot hold: found where there are any. BigInt is the judge. */
export const bigNumbers = pureMachine(
  { name: 'big integers in JSON', inputs: json, few: 2_000, share: 4 },
  (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return
    }
    const lossy = scanJson(text, Number.POSITIVE_INFINITY).lossy
    if (lossy !== undefined) ok(BigInt(lossy) !== BigInt(Number(lossy)) && text.includes(lossy))
    else if (Array.isArray(value) && /^\[[-\d,]*\]$/.test(text) && text !== '[]') {
      deepStrictEqual(
        value.map((one: number) => BigInt(one)),
        text.slice(1, -1).split(',').map(BigInt),
      )
    }
  },
)
