import fc from 'fast-check'

export const KEYS = ['a', 'b/x', 'b/y', 'é/{}']
const DAY = 86_400e6
/** Strict, so that no start is near the border of a tolerance. */
const LIMITS = [
  '1, 1/s',
  '5, 2/s',
  '8, 10/s',
  '3, 7 per 3 seconds',
  '1000000000, 1000/s',
  '4, 1 per 366 days',
  '2, 0.001/s',
  '20, 333/s',
  '7, every 333ms',
  '9, 3/s, warm-up 2s',
  '6, 13/s, warm-up 1h from 1/m',
  '5, 1000000 per 86401s, warm-up 250ms',
].map((limit) => `${limit}, tolerance 0`)

/**
 * Limits of several parts; strict, too. At most a second lies between two starts of at most 4 units: so long every quota counts, and
 * Redis remembers it for longer than memory.
 */
const SETS = [
  '20, 10/s, 7/second',
  '20, 20/s, 5/second, 12 per 7 seconds',
  '20, 40/s, 3000 tokens/minute 100 each, 10 per 2 seconds',
  '20, 10/s, 500 tokens per 5 seconds 40 each, 3 at once',
  '9, 10/s, 50 tokens per 3 seconds 40 each',
  '20, 10/s, 300 tokens per 3 seconds 9 each, 1 at once',
  '20, 20/s, 2 at once',
  '20, 12/s, warm-up 2s, 6 per 3 seconds',
  '20, 20/s, 5/second, 9 per hour in Australia/Lord_Howe, 14 per day in America/Los_Angeles',
  '20, 20/s, 700 tokens per day in Asia/Beirut 40 each, 30 per week in Europe/Berlin',
  '20, 1000/s, 400 per 31 days, 1000 tokens/second 1 each',
  '12, 5/s',
  '20, 10/s, 4 per 3 seconds, 9 per 8 seconds, 90 tokens/minute 9 each, 20 per hour in UTC, 2 at once',
].map((limit) => `${limit}, tolerance 0`)

const key = fc.constantFrom(...KEYS)
const paceLimit = fc.constantFrom(...LIMITS)
const setLimit = fc.constantFrom(...SETS)
export const limit = fc.oneof(paceLimit, setLimit)
const pattern = fc.constantFrom('*', 'b', 'b/x', 'a', 'é')
const which = fc.nat(1_000)
const smallCost = fc.integer({ min: 1, max: 4 })
const cost = fc.oneof(
  { weight: 8, arbitrary: smallCost },
  { weight: 1, arbitrary: fc.constantFrom(7, 20, 1_000, 999_999_999, 1e9) },
)
export const time = fc.oneof(
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 10_000 }) },
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 900_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 60e6 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 * DAY }) },
)
/** What a job names in tokens, or says that it really counted. */
const tokens = fc.option(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 800 })), {
  nil: undefined,
})
const patience = fc.option(time, { freq: 3 })
const verbWith = (limit: fc.Arbitrary<string>, cost: fc.Arbitrary<number>) =>
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        do: fc.constant('admit' as const),
        key,
        cost,
        tokens,
        patience,
        isTurn: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('admitMany' as const),
        keys: fc.array(key, { maxLength: 8 }),
        cost,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('again' as const), which, isOther: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('forecast' as const), key, cost, tokens }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
    { weight: 10, arbitrary: fc.record({ do: fc.constant('start' as const), settles: tokens }) },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('finish' as const),
        which,
        how: fc.constantFrom(
          'completed' as const,
          'completed' as const,
          'failed' as const,
          'retry' as const,
          'freeze' as const,
        ),
        time,
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), which, units: fc.nat(800) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('freeze' as const), key, time }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('unfreeze' as const, 'pause' as const, 'resume' as const, 'resume' as const),
        key,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('setRule' as const), pattern, limit }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('unsetRule' as const), pattern }) },
  )
export const verb = verbWith(limit, cost)
export type Verb = typeof verb extends fc.Arbitrary<infer Value> ? Value : never
export const STEPS = 40
const traceWith = (limit: fc.Arbitrary<string>, cost: fc.Arbitrary<number>) =>
  fc.tuple(
    fc.record({ '*': limit, b: limit }),
    fc.array(fc.tuple(verbWith(limit, cost), time), { minLength: 1, maxLength: STEPS, size: 'max' }),
  )
/** What is done under limits with a pace alone, or under limits of several parts. */
export const trace = fc.oneof(traceWith(paceLimit, cost), traceWith(setLimit, smallCost))
