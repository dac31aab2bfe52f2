import fc from 'fast-check'

/** Numbers at which arithmetic, formats and comparisons tend to differ. */
const EDGES = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e-9,
  1.5,
  255,
  256,
  1_000,
  86_400_000,
  1e9,
  1e9 + 1,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 53 + 2,
  1e15,
  1e21,
  1e300,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  Number.EPSILON,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
]

export const oddNumber: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 100 }) },
  { weight: 1, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.double() },
)

/** Any sequence of UTF-16 units, so with surrogates that stand alone. */
const units = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
  .map((codes) => String.fromCharCode(...codes))

const NASTY = [
  '',
  ' ',
  '.',
  '..',
  'a/..',
  '%2e%2e',
  '/',
  '//',
  'a/',
  '/a',
  '{',
  '}',
  '{}',
  '}{',
  '{a}:b',
  ':',
  '*',
  'a/*',
  '\u0000',
  'a\u0000b',
  '\n',
  'a\r\nb',
  '\t',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\u200b',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '__proto__/a',
  'é',
  'e\u0301',
  '\u212b',
  '\u00c5',
  'ß',
  'İ',
  'ı',
  '🎟️',
  '👩‍👩‍👧',
  '\ud83c',
  '\udf9f',
  '\udf9f\ud83c',
  'a\ud800',
  'null',
  'true',
  'NaN',
  'inf',
  '-inf',
  '0',
  '-1',
  '1e400',
  '0x10',
  '1_000',
  '12345678901234567890',
  "'",
  '"',
  '\\',
  '`',
  '$',
  '%',
  '%00',
  '%zz',
  '&',
  '?',
  '#',
  ';',
  ',',
  '~',
  '~c~1',
  'a b',
  ' a',
  'a ',
]

/** Text of every kind: plain, nasty, ill-formed, long. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 2, arbitrary: units },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...NASTY), fc.constantFrom(...NASTY)).map((two) => two.join('/')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }), fc.integer({ min: 80, max: 700 }))
      .map(([unit, times]) => unit.repeat(times)),
  },
)

/** Values of every type, and of none that a caller should pass. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: oddNumber },
  { weight: 4, arbitrary: oddText },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(undefined, null, true, false, [], {}, 10n, Symbol('s'), () => 1),
  },
  { weight: 1, arbitrary: oddNumber.map(String) },
  {
    weight: 2,
    arbitrary: fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      withObjectString: true,
      maxDepth: 2,
    }),
  },
)

/** One of the values, or some odd one in its place. */
export function orOdd<Value>(arbitrary: fc.Arbitrary<Value>, weight = 4): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight, arbitrary: arbitrary as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: oddValue },
  )
}

/** Some of these fields, and now and then one of another name. */
export function someFields(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> {
  const known = fc.record(fields, { requiredKeys: [] })
  const unknown = fc.dictionary(oddText, oddValue, { maxKeys: 1, noNullPrototype: true })
  return fc.oneof(
    { weight: 6, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, unknown).map(([a, b]) => ({ ...a, ...b })) },
  )
}
