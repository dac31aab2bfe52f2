import fc from 'fast-check'
import type { LimitInput } from '../../../src/core/limit.ts'
import { oddText } from '../odd-values.ts'

/** Microseconds. */
export const SECOND = 1e6
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A quota as it is written, and what it means. */
export interface QuotaSpec {
  readonly amount: number
  readonly per: string
  readonly in?: 'UTC'
  readonly unit?: string
  readonly each?: number
}

/** A limit as it is written. */
export interface LimitSpec {
  readonly capacity: number
  readonly rate: string
  readonly quotas: readonly QuotaSpec[]
  readonly concurrency?: number
}

/** A window as it is written, its length, and how names of quotas have it. */
const WINDOWS: Readonly<Record<string, readonly [length: number, named: string]>> = {
  second: [SECOND, '/second'],
  '3 seconds': [3 * SECOND, ' per 3s'],
  '7s': [7 * SECOND, ' per 7s'],
  minute: [MINUTE, '/minute'],
  '1m30s': [90 * SECOND, ' per 90s'],
  '5 minutes': [5 * MINUTE, ' per 5m'],
  hour: [HOUR, '/hour'],
  PT24H: [DAY, '/day'],
}
const PERIODS: Readonly<Record<string, readonly [length: number, named: string]>> = {
  hour: [HOUR, ' per hour in UTC'],
  Day: [DAY, ' per day in UTC'],
}
/** Microseconds between two departures. */
const PACES: Readonly<Record<string, number>> = {
  '10/s': SECOND / 10,
  '2/s': SECOND / 2,
  'every 250ms': SECOND / 4,
  '7 per 3 seconds': (3 * SECOND) / 7,
  '500/minute': MINUTE / 500,
  '1/m': MINUTE,
}
const UNITS = ['tokens', 'images', 'a-b_1', 'Tokens']

export const intervalOf = ({ rate }: LimitSpec) => PACES[rate]!
const meaningOf = ({ per, in: zone }: QuotaSpec) => (zone === undefined ? WINDOWS : PERIODS)[per]!
export const windowOf = (quota: QuotaSpec) => meaningOf(quota)[0]
export const nameOf = (quota: QuotaSpec) =>
  `${quota.amount}${quota.unit === undefined ? '' : ` ${quota.unit}`}${meaningOf(quota)[1]}`
export const unitsOf = ({ quotas }: LimitSpec) => [...new Set(quotas.flatMap(({ unit }) => unit ?? []))]

const window = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...Object.keys(WINDOWS)).map((per) => ({ per })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...Object.keys(PERIODS)).map((per) => ({ per, in: 'UTC' as const })),
  },
)
const amount = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(12, 50, 1_000, 1e6, 1e12))
const quota: fc.Arbitrary<QuotaSpec> = fc.oneof(
  fc.tuple(amount, window).map(([units, of]) => ({ amount: units, ...of })),
  fc
    .tuple(amount, window, fc.constantFrom(...UNITS))
    // Quotas of one unit say the same for each job.
    .map(([units, of, unit]) => ({
      amount: units,
      ...of,
      unit,
      each: unit === 'tokens' ? 1 : Math.min(2, units),
    })),
)

/** Whether no two quotas of a unit have the same window, and all say the same for each job. */
function mayStandTogether(quotas: readonly QuotaSpec[]): boolean {
  const windows = quotas.map(({ unit, ...one }) => `${unit} ${one.in} ${windowOf(one)}`)
  const uses = new Set(quotas.map(({ unit, each }) => `${unit} ${each}`))
  return (
    new Set(windows).size === windows.length && uses.size === new Set(quotas.map(({ unit }) => unit)).size
  )
}

/** Valid limits of every set of parts, with no part at all, too. */
export const limitSpec: fc.Arbitrary<LimitSpec> = fc
  .record({
    capacity: fc.constantFrom(1, 3, 8, 20),
    rate: fc.constantFrom(...Object.keys(PACES)),
    quotas: fc.array(quota, { maxLength: 4 }).filter(mayStandTogether),
    concurrency: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 2 }),
  })
  .map(({ concurrency, ...limit }) => (concurrency === undefined ? limit : { ...limit, concurrency }))

export function textOf({ capacity, rate, quotas, concurrency }: LimitSpec): string {
  const parts = quotas.map(({ amount: units, unit, each, per, in: zone }) =>
    [
      units,
      ...(unit === undefined ? [] : [unit]),
      `per ${per}`,
      ...(zone === undefined ? [] : [`in ${zone}`]),
      ...(each === undefined ? [] : [`${each} each`]),
    ].join(' '),
  )
  return [capacity, rate, ...parts, ...(concurrency === undefined ? [] : [`${concurrency} at once`])].join(
    ', ',
  )
}

/** The same as an object; every other quota as text within it. */
export function objectOf({ capacity, rate, quotas, concurrency }: LimitSpec): Exclude<LimitInput, string> {
  const written = quotas.map((one, index) =>
    index % 2 === 0 ? one : textOf({ capacity, rate, quotas: [one] }).split(', ')[2]!,
  )
  return {
    capacity,
    rate,
    ...(written.length > 0 && { quotas: written }),
    ...(concurrency !== undefined && { concurrency }),
  }
}

/** A value that may not stand there, and where in a limit as an object. */
export type Fault = readonly [path: readonly (string | number)[], value: unknown]

const wrongNumber = fc.constantFrom<unknown>(0, -1, 1.5, 1e13, 1e300, '5', null, true, [], {}, [5], '')
const wrongText = fc.constantFrom<unknown>(
  5,
  null,
  true,
  [],
  {},
  '',
  'x',
  'month',
  '\u0000',
  '1/s'.repeat(100),
)
const nested = fc.integer({ min: 5, max: 5_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`)
const at = (path: readonly (string | number)[], value: fc.Arbitrary<unknown>) =>
  value.map((wrong): Fault => [path, wrong])
const odd = fc.oneof(oddText, fc.constantFrom<unknown>(null, 0, [], {}))

/** What makes any limit with a quota of tokens at place 0 invalid, as JSON and YAML can say it. */
export const fault: fc.Arbitrary<Fault> = fc.oneof(
  at(['capacity'], wrongNumber),
  at(['rate'], wrongText),
  at(
    ['rate', 'count'],
    wrongNumber.filter((number) => number !== 1.5),
  ),
  at(['concurrency'], wrongNumber),
  at(['quotas', 0, 'amount'], wrongNumber),
  at(['quotas', 0, 'per'], wrongText),
  at(
    ['quotas', 0, 'unit'],
    fc.constantFrom<unknown>(5, null, '', 'per', 'a b', '__proto__', 'constructor', 'é', 'R'),
  ),
  at(['quotas', 0, 'each'], wrongNumber),
  at(['quotas', 0, 'in'], fc.constantFrom<unknown>('UTC+1', 'Mars/Base', '', 5, null, '__proto__')),
  at(['quotas', 0], fc.constantFrom<unknown>(5, null, [], {}, '', '5/month', '90,000/day', '5 gb/day')),
  at(
    ['quotas'],
    fc.constantFrom<unknown>(
      5,
      null,
      {},
      '5/day',
      Array.from({ length: 9 }, (_, n) => `5 per ${n + 1}s`),
    ),
  ),
  at(['quotas'], fc.constant(['5/day', { amount: 6, per: '24h' }])),
  at(['quotas', 0, 'quota'], odd),
  at(['Capacity'], odd),
  at(['quotas', 0, 'in'], nested),
)

/** The limit as an object, with the fault in it. */
export function faulty(limit: LimitSpec, [path, value]: Fault): unknown {
  const [field, place, part] = path
  const whole: Record<string, unknown> = { ...objectOf(limit) }
  if (field === 'rate' && place === 'count') whole['rate'] = { count: value, per: '1s' }
  else if (place === 0) {
    const tokens = { amount: 9, per: 'minute', unit: 'tokens', each: 1 }
    whole['quotas'] = [part === undefined ? value : { ...tokens, [part]: value }]
  } else whole[String(field)] = value
  return whole
}
