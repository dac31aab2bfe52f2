import fc from 'fast-check'

const MS = 1_000

/** The families of each depth. */
const FAMILIES = [['a/'], ['a/p/', 'a/s/'], ['a/p/q/', 'a/p/t/'], ['a/p/q/r/']] as const
/** Totals that a rule may name, by the depth of the families that they are for; of the outermost there is one always. */
export const TOTALS = [
  ['a/p/', 2],
  ['a/*/', 2],
  ['a/p/q/', 3],
  ['a/p/*/', 3],
  ['a/p/q/r/', 4],
] as const
export const OUTERMOST = 'a/'

/** Hardly two are alike, so that tags are equal where children join together alone; and their sums are exact. */
const weight = fc.integer({ min: 1_024, max: 4_096 }).map((parts) => parts / 1_024)

interface Paces {
  readonly keys: readonly string[]
  readonly totals: readonly string[]
  readonly outermost: readonly string[]
  readonly isFast: boolean
}

const SLOW: Paces = {
  keys: ['8, 2/s', '20, 20/s', '40, 200/s', '20, 20/s, 6/second', '20, 20/s, 1 at once'],
  totals: ['40, 10/s', '200, 50/s', '30, 20/s', '200, 50/s, 2 at once'],
  outermost: [
    '40, 10/s',
    '300, 20/s',
    '300, 50/s, 15/second',
    '300, 50/s, 90 tokens/second 10 each',
    '300, 20/s, 3 at once',
  ],
  isFast: false,
}
/**
 * Nothing but the outermost total holds a job back, so that those of a claim that looks ahead are the ones that go meanwhile: else those
 * take part in the choice that may go only later.
 */
const FAST: Paces = {
  keys: ['200, 2000/s', '60, 1000/s'],
  totals: ['2000, 500/s', '1000, 400/s'],
  outermost: [
    '4000, 100/s',
    '2000, 200/s',
    '4000, 100/s, 60/second',
    '2000, 200/s, 400 tokens/second 4 each',
  ],
  isFast: true,
}

const cost = fc.integer({ min: 1, max: 4 })
const tokens = fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined })
const which = fc.nat(1_000)

/** All of some keys in a row have jobs at once. */
const crowd = fc.record({
  do: fc.constant('crowd' as const),
  which,
  of: fc.oneof(fc.integer({ min: 2, max: 60 }), fc.constant(200)),
  costs: fc.array(cost, { minLength: 1, maxLength: 3 }),
  tokens,
})

function stepOf({ keys, totals, outermost, isFast }: Paces) {
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('admit' as const),
        which,
        cost,
        tokens,
        // What was handed over ahead must not expire.
        patience: isFast
          ? fc.constant(undefined)
          : fc.option(fc.nat(5_000 * MS), { nil: undefined, freq: 4 }),
      }),
    },
    {
      weight: 5,
      arbitrary: crowd,
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('start' as const),
        most: fc.integer({ min: 1, max: 20 }),
        isShort: fc.boolean(),
      }),
    },
    {
      weight: isFast ? 8 : 0,
      arbitrary: fc.record({
        do: fc.constant('ahead' as const),
        most: fc.integer({ min: 2, max: 50 }),
        by: fc.integer({ min: 20 * MS, max: 500 * MS }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('complete' as const), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('die' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('retry' as const), which, delay: fc.nat(900 * MS) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const), which, tokens: fc.nat(90) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('freeze' as const, 'unfreeze' as const, 'pause' as const, 'resume' as const),
        isFamily: fc.boolean(),
        which,
        forMs: fc.integer({ min: 1, max: 900 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('limit' as const),
        which,
        ofKey: fc.constantFrom(...keys),
        weight,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('total' as const),
        which,
        ofTotal: fc.constantFrom(...totals),
        ofOutermost: fc.constantFrom(...outermost),
        weight,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('come' as const, 'go' as const),
        which,
        ofTotal: fc.constantFrom(...totals),
        weight,
      }),
    },
  )
}
export type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer Value> ? Value : never

const lapse = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 8 * MS }) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 300 * MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000 * MS }) },
)

export function limitText(pace: string, weight: number): string {
  return `${pace}, tolerance 0, weight ${weight}`
}

function traceOf(paces: Paces) {
  return fc
    .record({
      depth: fc.integer({ min: 1, max: 4 }),
      size: fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: 1, max: 20 }) },
        { weight: 2, arbitrary: fc.integer({ min: 21, max: 200 }) },
      ),
      spread: fc.array(fc.nat(5), { minLength: 1, maxLength: 5 }),
      paces: fc.array(fc.constantFrom(...paces.keys), { minLength: 1, maxLength: 6 }),
      weights: fc.infiniteStream(weight),
      outermost: fc.constantFrom(...paces.outermost),
      totals: fc.array(fc.option(fc.tuple(fc.constantFrom(...paces.totals), weight)), {
        minLength: TOTALS.length,
        maxLength: TOTALS.length,
      }),
      first: fc.tuple(crowd, lapse),
      steps: fc.array(fc.tuple(stepOf(paces), lapse), { minLength: 15, maxLength: 45, size: 'max' }),
    })
    .map(({ depth, size, spread, paces: of, weights, outermost, totals, first, steps }) => {
      const families = FAMILIES.slice(0, depth).flat()
      // The number first, so that children join in the order of their names where they come together.
      const keys = Array.from({ length: size }, (_, n) => {
        const family = families[spread[n % spread.length]! % families.length]!
        return `${family}${String(n).padStart(3, '0')}`
      })
      const limits: Record<string, string> = { [OUTERMOST]: limitText(outermost, 1) }
      for (const [n, key] of keys.entries()) limits[key] = limitText(of[n % of.length]!, weights.next().value)
      for (const [n, total] of totals.entries()) {
        const [pattern, at] = TOTALS[n]!
        if (total !== null && at <= depth) limits[pattern] = limitText(...total)
      }
      return { keys: keys.sort(), families, depth, limits, steps: [first, ...steps] }
    })
}

/** Families of 1 to 200 keys, 1 to 4 deep, and what happens to them. */
export const trace = fc.oneof(traceOf(SLOW), traceOf(FAST))
