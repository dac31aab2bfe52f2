import fc from 'fast-check'
import { hostileFields, orHostile } from '../hostile-values.ts'
import { oddNumber, oddText } from '../odd-values.ts'
import { ZONES } from './limit-reading.ts'

const WORDS = [
  ...[
    'tolerance',
    'warm-up',
    'from',
    'per',
    'in',
    'at',
    'once',
    'each',
    'every',
    'r',
    '/',
    ',',
    ' ',
    '_',
    '.',
    '-',
  ],
  ...['0', '1', '5', '0.5', '1_000', '90,000', '1e3', '007', '٣', '\u00a0', '\n', 'P', 'M', 'k'],
  ...[
    's',
    'ms',
    'minute',
    'day',
    'month',
    'tokens',
    'r/s',
    'constructor',
    'at once',
    '3 at once',
    '5/s',
    '5 each',
  ],
  ...[
    '2000/day',
    'warm-up 2s',
    'tolerance 0',
    'warm-up 2s from 1/m',
    ' from 1/m',
    ' in UTC',
    'per day in Mars/Base',
  ],
]
const figure = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: 100 }).map(String) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('1_000', '1__0', '1_', '1000000000', '1000000001', '1000000000000', '01'),
  },
  { weight: 1, arbitrary: oddNumber.map(String) },
)
const duration = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom(
      ...[
        's',
        'second',
        'Seconds',
        '1s',
        '1 s',
        '250ms',
        '1.5s',
        '2 minutes',
        'minute',
        '1m30s',
        '1 m 30 s',
        'h',
      ],
      ...['PT1M30S', 'PT1.5S', 'P1D', 'P1DT1H', 'day', '31 days', '0.001s', '1ms', '2ms', '5ms', '3 d'],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[
        '100us',
        'month',
        '1M',
        '0s',
        '1.s',
        '.5s',
        's5s',
        '5 s s',
        'PT',
        'P1M',
        'pt1s',
        '366 days',
        '367d',
        '1s,',
      ],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(figure, fc.constantFrom('s', 'ms', 'd', ' m')).map((two) => two.join('')),
  },
)
const per = fc.constantFrom('/', '/', '/', '/', ' / ', ' per ', ' per ', ' PER  ', 'r/', ' per')
const count = fc.oneof({ weight: 8, arbitrary: figure }, fc.constantFrom('0.5', '.5', '2.25', '0.0000001'))
const rate = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(count, per, duration).map((three) => three.join('')) },
  { weight: 1, arbitrary: duration.map((long) => `every ${long}`) },
)
const unit = fc.constantFrom('tokens', 'tokens', 'Tokens', 'a-b_1', 'jobs', 'points', 'k', 'x'.repeat(32))
const zone = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ZONES) },
  fc.constantFrom('utc', 'Mars/Base', 'in', ''),
)
const window = fc.oneof(
  { weight: 4, arbitrary: duration },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('hour', 'Day', 'week', 'minute'), zone)
      .map(([a, b]) => `${a} in ${b}`),
  },
)
const quota = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(figure, per, window).map((three) => three.join('')) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(figure, unit, per, window, fc.oneof({ weight: 4, arbitrary: fc.constant('1') }, figure))
      .map(
        ([amount, name, by, long, each]) => `${amount} ${name}${by === 'r/' ? '/' : by}${long} ${each} each`,
      ),
  },
)
/** Most are slower than others. */
const coldRate = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('1/d', 'every 2 days', '0.1 per day') },
  rate,
)
const onePart = fc.oneof(
  { weight: 4, arbitrary: quota },
  { weight: 2, arbitrary: figure.map((number) => `${number} at once`) },
  fc.oneof(duration, fc.constantFrom('0', '0ms', '1ms')).map((long) => `tolerance ${long}`),
  duration.map((long) => `warm-up ${long}`),
  fc.tuple(duration, coldRate).map(([long, from]) => `warm-up ${long} from ${from}`),
)
/** Parts that end where they should, or go on. */
const part = fc.oneof(
  { weight: 8, arbitrary: onePart },
  fc
    .tuple(
      onePart,
      fc.constantFrom('from 1/m', 'from x', 'in UTC', '1 each', 'at once', 'per day', 's', 'x', '5', '0'),
    )
    .map((two) => two.join(' ')),
)
const comma = fc.constantFrom(', ', ', ', ',', ' ,  ')
/** Limits of which most are right. */
export const plainLimit: fc.Arbitrary<string> = fc
  .tuple(figure, rate, fc.array(part, { maxLength: 3 }), comma)
  .map(([capacity, pace, parts, between]) => [capacity, pace, ...parts].join(between))
/** One change of a text: so many characters at a place give way to a word. */
const edit = fc.tuple(
  fc.nat(200),
  fc.nat(3),
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom('', ...WORDS) }, oddText),
)

/** Limits as text: as they should be, or nearly. */
export const limitText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: plainLimit },
  {
    weight: 2,
    arbitrary: fc.tuple(plainLimit, fc.array(edit, { minLength: 1, maxLength: 2 })).map(([text, edits]) =>
      edits.reduce((whole, [place, cut, word]) => {
        const at = place % (whole.length + 1)
        return whole.slice(0, at) + word + whole.slice(at + cut)
      }, text),
    ),
  },
)

const number = fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 1, max: 100 }) }, oddNumber)
const rateInput = fc.oneof(
  { weight: 3, arbitrary: rate },
  { weight: 2, arbitrary: hostileFields({ count: orHostile(number), per: orHostile(duration) }) },
)
const quotaFields = fc.oneof(
  fc.record({ amount: number, per: duration }),
  fc.record({ amount: number, per: duration, unit, each: fc.constantFrom(1, 1, 1, 2) }),
  fc.record({ amount: number, per: fc.constantFrom('hour', 'day', ' Week '), in: zone }),
  hostileFields({
    amount: orHostile(number),
    per: orHostile(duration),
    unit: orHostile(unit),
    each: orHostile(number),
    in: orHostile(zone),
  }),
)
const quotas = fc.array(fc.oneof({ weight: 12, arbitrary: fc.oneof(quotaFields, quota) }, orHostile(quota)), {
  maxLength: 3,
})
const further = {
  tolerance: orHostile(fc.oneof(fc.constantFrom<unknown>(0, '0', '1ms'), duration)),
  warmUp: orHostile(duration),
  coldRate: orHostile(rateInput),
  quotas: orHostile(quotas),
  concurrency: orHostile(number),
}

/** Limits as objects: as they should be, or with something odd or hostile in them. */
const limitObject: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      { capacity: number, rate: rateInput, quotas, concurrency: fc.constantFrom(1, 2, 50), warmUp: duration },
      { requiredKeys: ['capacity', 'rate'] },
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(number, rateInput, fc.record(further, { requiredKeys: [] }))
      .map(([capacity, pace, more]) => ({ capacity, rate: pace, ...more })),
  },
  {
    weight: 2,
    arbitrary: hostileFields({ capacity: orHostile(number), rate: orHostile(rateInput), ...further }),
  },
)

export const oddLimit: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: orHostile(limitText, 30) },
  { weight: 6, arbitrary: limitObject },
)
