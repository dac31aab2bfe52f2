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

const key = fc.constantFrom(...KEYS)
export const limit = fc.constantFrom(...LIMITS)
const pattern = fc.constantFrom('*', 'b', 'b/x', 'a', 'é')
const which = fc.nat(1_000)
const cost = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(7, 20, 1_000, 999_999_999, 1e9) },
)
export const time = fc.oneof(
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 10_000 }) },
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 900_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 60e6 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 * DAY }) },
)
const patience = fc.option(time, { freq: 3 })
export const verb = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('admit' as const), key, cost, patience, isTurn: fc.boolean() }),
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
  { weight: 3, arbitrary: fc.record({ do: fc.constant('forecast' as const), key, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
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
export type Verb = typeof verb extends fc.Arbitrary<infer Value> ? Value : never
export const STEPS = 40
export const steps = fc.array(fc.tuple(verb, time), { minLength: 1, maxLength: STEPS, size: 'max' })
