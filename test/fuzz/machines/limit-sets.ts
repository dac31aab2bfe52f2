import { deepStrictEqual, match, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/core/duration.ts'
import { type LimitInput, parseCountedLimit, parseLimit } from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'
import { nameOfQuota, type QuotaInput } from '../../../src/core/quota-input.ts'
import { pureMachine } from '../machine.ts'
import { outcomeOf } from '../refusals.ts'

type QuotaParts = Exclude<QuotaInput, string>

/** Ways to write a window, and what each means. */
const WINDOWS: readonly (readonly [per: string, length: number])[] = [
  ['second', SECOND],
  ['s', SECOND],
  ['1s', SECOND],
  ['minute', MINUTE],
  ['60s', MINUTE],
  ['5 minutes', 5 * MINUTE],
  ['1m30s', 90 * SECOND],
  ['PT1H', HOUR],
  ['hour', HOUR],
  ['day', DAY],
  ['24h', DAY],
  ['31 days', 31 * DAY],
]
const ZONES = ['UTC', 'utc', 'Europe/Berlin', 'europe/berlin', 'America/Los_Angeles', 'Asia/Kathmandu']
const spelled = (zone: string) => ZONES.find((name) => name.toLowerCase() === zone.toLowerCase())!
const UNITS = ['tokens', 'images', 'Tokens', 'a-b_1', 'points', 'k', 'x'.repeat(32)]

const amount = fc.oneof(
  fc.integer({ min: 1, max: 50 }),
  fc.constantFrom(1_000, 90_000, 999_999_999, 1e9, 1e9 + 1, 1e12),
)
const window = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...WINDOWS).map(([per]) => ({ per })) },
  {
    weight: 1,
    arbitrary: fc.record({ per: fc.constantFrom('hour', 'Day', 'week'), in: fc.constantFrom(...ZONES) }),
  },
)
const counted = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.record({ unit: fc.constantFrom(...UNITS), each: fc.constantFrom(1, 1, 1, 9) }) },
)
const quota: fc.Arbitrary<QuotaParts> = fc
  .tuple(amount, window, counted)
  .map(([units, of, what]) => ({ amount: units, ...of, ...what }))

/** What LIMITS may not say, as one part of the text, and what the refusal must name. */
const FAULTS: readonly (readonly [part: string, says: RegExp])[] = [
  ['90,000/minute', /without a comma inside/],
  ['90,000 tokens/minute 5 each', /without a comma inside/],
  ['0/day', /amount of a quota to be a whole number/],
  ['1_000_000_000_001/day', /amount of a quota to be a whole number/],
  ['5 per day in Mars/Base', /expected a time zone/],
  ['5 per day in 2026-01-01T00:00Z', /expected a time zone/],
  ['5 per minute in UTC', /to be per hour, day or week/],
  ['5 per day Europe/Berlin', /the zone of a quota behind 'in'/],
  ['5 per month', /from 1 second to 31 days/],
  ['5 per 500ms', /from 1 second to 31 days/],
  ['5 per 32 days', /from 1 second to 31 days/],
  ['5 gb/day', /a default for jobs that name no amount/],
  ['5 gb/day 6 each', /`each` to be a whole number/],
  ['5 gb/day 0 each', /`each` to be a whole number/],
  ['5/day 2 each', /`each` only with a unit/],
  ['5 r/day 1 each', /expected a unit to be a name/],
  ['5 constructor/day 1 each', /expected a unit to be a name/],
  ['0 at once', /that may run at once/],
  ['1_000_001 at once', /that may run at once/],
  ['5 atonce', /after the rate/],
  ['0.5/day', /after the rate/],
]

const input = fc.record({
  capacity: fc.integer({ min: 1, max: 1_000 }),
  rate: fc.constantFrom('10/s', '500/minute', 'every 250ms'),
  quotas: fc.array(quota, { maxLength: 9 }),
  concurrency: fc.option(fc.constantFrom(1, 2, 50, 1e6), { nil: undefined }),
  tolerance: fc.constantFrom(undefined, '1ms', '0'),
  fault: fc.option(fc.tuple(fc.constantFrom(...FAULTS), fc.nat(12)), { nil: undefined, freq: 3 }),
  hasGaps: fc.boolean(),
  atOnceAt: fc.nat(12),
})
type Input = typeof input extends fc.Arbitrary<infer Value> ? Value : never

function quotaText({ amount: units, unit, each, per, in: zone }: QuotaParts, hasGaps: boolean): string {
  const number = hasGaps ? units.toLocaleString('en').replaceAll(',', '_') : `${units}`
  const what = unit === undefined ? '' : ` ${unit}`
  const by = zone !== undefined || hasGaps ? ' per ' : '/'
  const used = each === undefined ? '' : ` ${each} each`
  return `${number}${what}${by}${per}${zone === undefined ? '' : ` in ${zone}`}${used}`
}

function textOf({ capacity, rate, quotas, concurrency, tolerance, fault, hasGaps, atOnceAt }: Input): string {
  const parts = quotas.map((one) => quotaText(one, hasGaps))
  if (tolerance !== undefined) parts.push(`tolerance ${tolerance}`)
  if (concurrency !== undefined)
    parts.splice(atOnceAt % (parts.length + 1), 0, `${concurrency} ${hasGaps ? 'At  Once' : 'at once'}`)
  if (fault !== undefined) parts.splice(fault[1] % (parts.length + 1), 0, fault[0][0])
  return [capacity, rate, ...parts].join(hasGaps ? ' ,  ' : ', ')
}

const expectedOf = ({ amount: units, unit, each, per, in: zone }: QuotaParts) => {
  const period =
    zone === undefined
      ? { length: WINDOWS.find(([name]) => name === per)![1] }
      : { period: per.toLowerCase(), zone: spelled(zone) }
  return { amount: units, unit, each, window: period }
}

/** Whether the quotas may stand together, found by comparing each with each. */
function isAllowed(quotas: readonly QuotaParts[]): boolean {
  const read = quotas.map(expectedOf)
  return (
    read.length <= 8 &&
    read.every(
      (one, at) =>
        (one.each ?? 1) <= one.amount &&
        read
          .slice(at + 1)
          .every(
            (other) =>
              one.unit !== other.unit ||
              (JSON.stringify(one.window) !== JSON.stringify(other.window) && one.each === other.each),
          ),
    )
  )
}

/**
 * Limits of several parts, as text and as an object: both say the same, which is what was meant; and what a limit may not say is
 * refused with a hint.
 */
export const limitSets = pureMachine(
  { name: 'limits of several parts', inputs: input, few: 3_000, share: 10 },
  (given) => {
    const { capacity, rate, tolerance, quotas, concurrency, fault } = given
    const text = textOf(given)
    const fromText = outcomeOf(() => parseLimit(text), 'invalid-limit')
    if (fault !== undefined) {
      ok(fromText.kind === 'refused', `expected a refusal of ${text}`)
      const [part, says] = fault[0]
      // Of two faults either may be named.
      const isOther =
        !isAllowed(quotas) || quotas.length === 8 || (part.endsWith('once') && concurrency !== undefined)
      if (!isOther) match(fromText.error.message, says, text)
      return
    }
    const parts = { capacity, rate, quotas, ...(tolerance !== undefined && { tolerance }) }
    const object: LimitInput = concurrency === undefined ? parts : { ...parts, concurrency }
    const fromObject = outcomeOf(() => parseLimit(object), 'invalid-limit')
    const isRight = isAllowed(quotas)
    deepStrictEqual([fromText.kind === 'value', fromObject.kind === 'value'], [isRight, isRight], text)
    if (fromText.kind === 'refused' || fromObject.kind === 'refused') return
    const limit = fromText.value
    deepStrictEqual(limit, fromObject.value)
    deepStrictEqual(
      limit.quotas.map((one) => ({ ...one, window: { ...one.window } })),
      quotas.map(expectedOf),
    )
    deepStrictEqual(limit.concurrency, concurrency ?? Number.POSITIVE_INFINITY)
    deepStrictEqual(parseLimit(formatLimit(limit)), limit)
    ok(limit.quotas.every((one) => formatLimit(limit).includes(nameOfQuota(one))))
    const ofMeter = outcomeOf(() => parseCountedLimit(text), 'invalid-limit')
    deepStrictEqual(ofMeter.kind === 'value', concurrency === undefined, text)
  },
)
