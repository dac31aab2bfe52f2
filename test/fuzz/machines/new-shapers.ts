import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { type LimitInput, parseLimit } from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { Shaper, type ShaperOptions } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { hostileFields, hostileValue, made, orHostile, TrapError } from '../hostile-values.ts'
import { machine } from '../machine.ts'
import { oddNumber, oddText, oddValue } from '../odd-values.ts'
import { type ReadLimit, readLimit } from '../parts/limit-reading.ts'
import { limitText, oddLimit, plainLimit } from '../parts/odd-limits.ts'
import { outcomeOf } from '../refusals.ts'

const pattern = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('*', 'a', 'a/b', 'a/*', '*/b', 'constructor', 'é') },
  oddText,
)
const bookOf = (limit: fc.Arbitrary<unknown>) =>
  fc.dictionary(pattern, limit, { maxKeys: 3, noNullPrototype: true })
const number = orHostile(oddNumber, 2)
const author = orHostile(fc.constantFrom('shop', 'é'), 4)
const origin = orHostile(fc.constantFrom('code', 'file', 'environment'), 6)
/** None that a client would connect to. */
const connection = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    5,
    true,
    '',
    'redis//',
    'http://h',
    'redis://:x',
    10n,
    Symbol('s'),
    [],
  ),
  oddText.filter((text) => !/^(rediss?|unix):|^\//.test(text.trim())),
)
const options = hostileFields({
  limits: orHostile(bookOf(limitText)),
  limitsFrom: origin,
  limitsBy: author,
  moreLimits: orHostile(
    fc.array(orHostile(hostileFields({ limits: orHostile(bookOf(limitText)), from: origin, by: author })), {
      maxLength: 3,
    }),
  ),
  jobDefaults: orHostile(
    hostileFields({
      attempts: number,
      backoff: orHostile(
        hostileFields({ type: fc.constantFrom('fixed', 'exponential'), delayMs: number, jitter: number }),
      ),
      timeoutMs: number,
      keepFinished: number,
      keepFinishedMs: number,
      keepFinishedAtMost: number,
    }),
  ),
  maxDataBytes: number,
  connection,
  clock: fc.oneof(oddValue, hostileValue),
  prefix: orHostile(fc.constant('vr')),
  shards: number,
  lookAheadMs: number,
})

/** Limits alone, of which a second reading knows what they mean; or any options. */
const input = fc.oneof(
  { weight: 3, arbitrary: fc.record({ book: bookOf(fc.oneof(plainLimit, oddLimit)) }) },
  {
    weight: 2,
    arbitrary: fc.record({ name: orHostile(fc.constant('fuzz'), 12), options: orHostile(options, 12) }),
  },
)
type Input = typeof input extends fc.Arbitrary<infer Value> ? Value : never

/** What is opened, or undefined where it is refused, or a getter of the caller throws. */
function opened(name: unknown, given: unknown): Shaper | undefined {
  try {
    const outcome = outcomeOf(
      () => new Shaper(name as string, given as ShaperOptions),
      'invalid-options',
      'invalid-limit',
      'invalid-key',
    )
    return outcome.kind === 'value' ? outcome.value : undefined
  } catch (error) {
    if (error instanceof TrapError) return undefined
    throw error
  }
}

const meant = (limit: unknown) => {
  try {
    return readLimit(limit)
  } catch (error) {
    if (error instanceof TrapError) return undefined
    throw error
  }
}

const isPattern = (text: string) => outcomeOf(() => parseRule(text, '1, 1/s'), 'invalid-key').kind === 'value'

/** Two jobs of a key of each rule depart when they were promised to, and no earlier than their limit says. */
async function depart(shaper: Shaper, clock: VirtualClock): Promise<void> {
  const starts = new Map<string, number[]>()
  const promised = new Map<string, number>()
  shaper.work(({ key, id }) => {
    starts.set(key, [...(starts.get(key) ?? []), clock.now()])
    const at = promised.get(id)
    // Milliseconds, of times at which a number has few digits behind the point.
    if (at !== undefined)
      ok(Math.abs(clock.now() - at * 1_000) <= 1 + clock.now() * 1e-12, `${clock.now()} for ${at}`)
  })
  let last = clock.now()
  for (const rule of shaper.limits.list()) {
    const key = rule.pattern.replaceAll('*', 'x')
    const limit = readLimit(shaper.limits.resolve(key).limit)!
    for (let count = 0; count < Math.min(2, limit.capacity); count++) {
      // A forecast says what holds the job, too.
      const {
        id: _,
        heldBy: __,
        ...forecast
      } = { id: '', heldBy: undefined, ...(await shaper.forecast(key)) }
      const verdict = await shaper.enqueue(key, null)
      ok(verdict.accepted, `expected it to be accepted: ${JSON.stringify(verdict)}`)
      const { id, ...rest } = verdict
      deepStrictEqual(rest, forecast)
      if (verdict.isEstimate !== true) promised.set(id, verdict.departsAt)
      last = Math.max(last, latest(limit, clock.now()))
    }
  }
  await clock.advanceTo(last)
  for (const [key, [one, other]] of starts) {
    const limit = readLimit(shaper.limits.resolve(key).limit)!
    // A time since the epoch is exact to a quarter of a microsecond.
    ok(other === undefined || other - one! >= gapOf(limit) - 1, `${key}: ${one} and ${other}`)
  }
  const { waiting, handed, running, retrying } = await shaper.audit()
  deepStrictEqual([waiting, handed, running, retrying], [0, 0, 0, 0], `by ${last}`)
}

const DAY = 86_400e6
const HOURS: Readonly<Record<string, number>> = { hour: DAY / 24, day: DAY, week: 7 * DAY }

/** The least time between two starts. */
function gapOf({ interval, tolerance, quotas }: ReadLimit): number {
  const windows = quotas.map(({ amount, each = 1, window }) =>
    typeof window === 'number' && 2 * each > amount ? window : 0,
  )
  return Math.max(interval - tolerance, ...windows)
}

/** By then both have started: after a quota has let the first one go, once it has come free, and the same again. */
function latest({ coldInterval, quotas }: ReadLimit, now: number): number {
  const windows = quotas.map(({ window }) =>
    typeof window === 'number' ? window * (61 / 60) : HOURS[window.split(' ')[0]!]! + DAY / 12,
  )
  return now + 2 * (coldInterval + Math.max(0, ...windows)) + 10e6
}

async function check(input: Input): Promise<void> {
  const clock = new VirtualClock(1_700_000_000e6)
  if (!('book' in input)) {
    const given = made(input.options)
    const shaper = opened(made(input.name), given)
    if (shaper === undefined) return
    // What was accepted is a book of limits, each of which can be written down and read again.
    for (const { limit } of shaper.limits.list()) deepStrictEqual(formatLimit(parseLimit(limit)), limit)
    await shaper.close()
    return
  }
  const limits = made(input.book) as Record<string, LimitInput>
  const expected = Object.entries(made(input.book) as object).map(
    ([name, limit]) => [name, meant(limit)] as const,
  )
  const isRight = expected.every(([name, limit]) => limit !== undefined && isPattern(name))
  const shaper = opened('fuzz', { limits, clock })
  deepStrictEqual(shaper !== undefined, isRight)
  if (shaper === undefined) return
  try {
    const listed = shaper.limits.list().map(({ pattern: name, limit }) => [name, readLimit(limit)])
    deepStrictEqual(listed, expected)
    await depart(shaper, clock)
  } finally {
    await shaper.close()
  }
}

/**
 * Options of new shapers: refused by name; or their limits are in force as a second reading understands them, and jobs under them depart
 * as they were promised to.
 */
export const newShapers = machine({
  name: 'options of new shapers',
  inputs: input,
  few: 600,
  share: 10,
  open: async () => ({
    give: async (given: Input) => {
      await check(given)
      return 1
    },
    close: async () => undefined,
  }),
})
