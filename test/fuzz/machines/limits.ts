import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { formatDuration, parseDuration } from '../../../src/core/duration.ts'
import { type LimitInput, parseLimit, parseMeterLimit } from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'
import { formatRate, parseRate, type RateInput } from '../../../src/core/rate.ts'
import { pureMachine } from '../machine.ts'
import { oddNumber, oddText, oddValue, orOdd, someFields } from '../odd-values.ts'
import { outcomeOf } from '../refusals.ts'

const LONGEST = 366 * 86_400 * 1e6

const figure = fc.oneof(
  fc.integer({ min: 0, max: 200 }).map(String),
  oddNumber.map(String),
  fc.constantFrom('1_000', '1__0', '_1', '.5', '0.1', '1.', '007', '1e3', '+1', '-1', '1,5', '٣', '１'),
)
const unit = fc.constantFrom(
  'ms',
  's',
  'sec',
  'm',
  'M',
  'min',
  'h',
  'hr',
  'd',
  'day',
  'days',
  'second',
  'us',
  'w',
  'month',
  'MS',
  'S',
  '',
)
const gap = fc.constantFrom('', ' ', '  ', '\t', '\n', '\u00a0')
const duration = fc.oneof(
  fc.array(fc.tuple(figure, gap, unit), { minLength: 1, maxLength: 3 }).map((parts) => parts.flat().join('')),
  fc.tuple(figure, figure, figure).map(([d, h, s]) => `P${d}DT${h}H${s}S`),
  oddText,
)
const per = fc.constantFrom('/', ' / ', ' per ', 'r/', 'r / ', ' per', '//')
const rate = fc.oneof(
  fc.tuple(figure, per, duration).map((parts) => parts.join('')),
  duration.map((text) => `every ${text}`),
  figure,
  oddText,
)
const rateInput = fc.oneof(rate, someFields({ count: orOdd(oddNumber), per: orOdd(duration) }), oddValue)
const counted = fc.oneof(fc.constantFrom('', '', 'tokens', 'r', 'each', 'constructor', 'a b'), oddText)
const each = fc.oneof(
  fc.constant(''),
  figure.map((number) => ` ${number} each`),
)
const quotaInput = fc.oneof(
  someFields({
    amount: orOdd(oddNumber),
    per: orOdd(duration),
    unit: orOdd(counted),
    each: orOdd(oddNumber),
    in: orOdd(fc.constantFrom('UTC', 'Europe/Berlin')),
  }),
  oddValue,
)
const further = fc.oneof(
  duration.map((text) => `tolerance ${text}`),
  duration.map((text) => `warm-up ${text}`),
  fc.tuple(duration, rate).map(([long, from]) => `warm-up ${long} from ${from}`),
  fc.constantFrom('tolerance 0', 'Tolerance 0 ms', 'tolerance', 'burst 5'),
  fc
    .tuple(figure, gap, counted, per, duration, fc.constantFrom('', ' in UTC', ' in Mars/Base', ' in '), each)
    .map((parts) => parts.join('')),
  fc
    .tuple(figure, fc.constantFrom(' at once', 'at once', ' AT  once', ' once'))
    .map((parts) => parts.join('')),
  oddText,
)
const limitText = fc
  .tuple(figure, rate, fc.array(further, { maxLength: 3 }))
  .map(([capacity, leak, parts]) => [capacity, leak, ...parts].join(', '))
const limitInput = fc.oneof(
  { weight: 4, arbitrary: limitText },
  {
    weight: 4,
    arbitrary: someFields({
      capacity: orOdd(oddNumber),
      rate: rateInput,
      tolerance: orOdd(duration),
      warmUp: orOdd(duration),
      coldRate: rateInput,
      quotas: orOdd(fc.array(quotaInput, { maxLength: 9 })),
      concurrency: orOdd(oddNumber),
    }),
  },
  { weight: 1, arbitrary: oddValue },
)

function checkLimit(input: LimitInput, parse: typeof parseLimit): void {
  const outcome = outcomeOf(() => parse(input), 'invalid-limit')
  if (outcome.kind === 'refused') return
  const { capacity, interval, tolerance, warmUp, coldInterval, quotas, concurrency } = outcome.value
  ok(Number.isInteger(capacity) && capacity >= 1 && capacity <= 1e9, `capacity ${capacity}`)
  ok(interval > 0 && interval <= LONGEST, `interval ${interval}`)
  ok(tolerance >= 0 && tolerance <= LONGEST, `tolerance ${tolerance}`)
  ok(warmUp >= 0 && warmUp <= LONGEST, `warm-up ${warmUp}`)
  ok(coldInterval >= interval && Number.isFinite(coldInterval), `cold interval ${coldInterval}`)
  ok(concurrency >= 1 && (Number.isInteger(concurrency) || concurrency === Number.POSITIVE_INFINITY))
  ok(quotas.length <= 8)
  for (const { amount, unit, each: used, window } of quotas) {
    ok(Number.isInteger(amount) && amount >= 1 && amount <= 1e12, `amount ${amount}`)
    ok((unit === undefined) === (used === undefined) && (used ?? 1) >= 1 && (used ?? 1) <= amount)
    ok('zone' in window || (window.length >= 1e6 && window.length <= 31 * 86_400 * 1e6))
  }
  // The limit of a meter has no tolerance, and is written down nowhere.
  if (parse === parseLimit) deepStrictEqual(parse(formatLimit(outcome.value)), outcome.value)
}

/** A limit is refused by name, or it is within its bounds and survives being written down. */
export const limits = pureMachine({ name: 'limits', inputs: limitInput, few: 4_000, share: 12 }, (input) => {
  checkLimit(input as LimitInput, parseLimit)
  checkLimit(input as LimitInput, parseMeterLimit)
})

/** The same for durations and rates on their own. */
export const durations = pureMachine(
  { name: 'durations and rates', inputs: fc.tuple(duration, rateInput), few: 4_000, share: 10 },
  ([text, input]) => {
    const long = outcomeOf(() => parseDuration(text), 'invalid-limit')
    if (long.kind === 'value') {
      ok(Number.isInteger(long.value) && long.value > 0 && long.value <= LONGEST, `duration ${long.value}`)
      deepStrictEqual(parseDuration(formatDuration(long.value)), long.value)
    }
    const leak = outcomeOf(() => parseRate(input as RateInput), 'invalid-limit')
    if (leak.kind === 'value') deepStrictEqual(parseRate(formatRate(leak.value)), leak.value)
  },
)
