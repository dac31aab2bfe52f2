import fc from 'fast-check'
import { oddText } from '../odd-values.ts'

/** A value as JSON text, and the pointers to what may not be there, from where it stands; none: it is valid. */
export interface Written<Value> {
  readonly text: string
  readonly faults: readonly string[]
  readonly value?: Value
}

type Costs = Readonly<Record<string, number>>

/** A step of a pointer (RFC 6901) in the fragment of a URI. */
export const step = (name: string) =>
  `/${encodeURIComponent(
    name
      .replace(/\p{Surrogate}/gu, '\ufffd')
      .replaceAll('~', '~0')
      .replaceAll('/', '~1'),
  )}`

const fine = <Value>(value: Value): Written<Value> => ({ text: JSON.stringify(value), faults: [], value })

/** No whole number from `least` to a billion. */
const wrongNumber = (least: number) =>
  fc.oneof(
    fc.constantFrom(
      `${least - 1}`,
      '-1',
      '1.5',
      '1000000001',
      '1e10',
      '1e300',
      '"5"',
      'null',
      'true',
      '[]',
      '{}',
      '[5]',
      '1e-9',
    ),
    fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true }).map(String),
    oddText.map((text) => JSON.stringify(text)),
  )
/** No double can hold it, or nothing nests so deeply: found before the fields are read. */
const monsters: readonly (readonly [text: string, pointer: string])[] = [
  ['1e999', ''],
  ['-1e999', ''],
  ['{"__proto__":1}', '/__proto__'],
  ['{"__proto__":{"tokens":1}}', '/__proto__'],
]

const NO_UNITS = [
  '',
  ' ',
  'a b',
  'per',
  'R',
  'each',
  'constructor',
  'toString',
  'é',
  '1a',
  '-a',
  'x'.repeat(33),
  'tokens ',
  'a/~b',
  '\ud800',
  'x'.repeat(300),
]
const UNITS = ['tokens', 'images', 'a-b_1', 'Tokens', 'unknown']

/** Costs of a job, or amounts of a settlement. */
export const costsFrom = (least: number): fc.Arbitrary<Written<Costs>> => {
  const amount = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: least, max: 9 }) },
    fc.constantFrom(50, 1_000, 1e9),
  )
  const right = fc
    .dictionary(fc.constantFrom(...UNITS), amount, {
      minKeys: least === 0 ? 1 : 0,
      maxKeys: 3,
      noNullPrototype: true,
    })
    .map(fine<Costs>)
  const wrongName = fc
    .constantFrom(...NO_UNITS)
    .map((name) => ({ text: `{"tokens":1,${JSON.stringify(name)}:1}`, faults: [step(name.slice(0, 256))] }))
  const wrongAmount = fc
    .tuple(fc.constantFrom(...UNITS), wrongNumber(least))
    .map(([unit, number]) => ({ text: `{"${unit}":${number}}`, faults: [step(unit)] }))
  const several = wrongNumber(least).map((number) => ({
    text: `{"a b":1,"tokens":${number},"images":${number},"Tokens":1}`,
    faults: ['/a%20b', '/tokens', '/images'],
  }))
  const monster = fc
    .constantFrom(...monsters)
    .map(([text, pointer]) => ({ text: `{"tokens":${text}}`, faults: [`/tokens${pointer}`] }))
  const whole = fc
    .constantFrom(
      'null',
      '5',
      '"tokens"',
      '[]',
      '[1]',
      'true',
      `{${'abcdefghi'.replace(/./g, '"$&":1,').slice(0, -1)}}`,
    )
    .map((text) => ({ text, faults: [''] }))
  const own = fc.constantFrom('5', '{"tokens":5}', 'null').map((text) => ({
    text: `{"tokens":1,"__proto__":${text}}`,
    faults: ['/__proto__'],
  }))
  const deep = fc.constantFrom(40, 3_000).map((depth) => ({
    text: `{"tokens":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    // Where it is too deep.
    faults: ['/tokens'],
  }))
  const wrong = fc.oneof(wrongName, wrongAmount, several, monster, whole, own, deep)
  return fc.oneof({ weight: 3, arbitrary: right }, { weight: 2, arbitrary: wrong })
}

/** A field that is none. */
export const unknownField = fc
  .constantFrom(
    'cost ',
    'Costs',
    'costz',
    '__proto__',
    'constructor',
    'é',
    'settle',
    'holdMs',
    'x'.repeat(400),
  )
  .map((name): readonly [string, Written<never>] => [name, { text: '{"tokens":5}', faults: [''] }])

export const costFrom: fc.Arbitrary<Written<number>> = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 3 }).map(fine<number>) },
  { weight: 1, arbitrary: fc.constantFrom(8, 20, 21, 1e9).map(fine<number>) },
  { weight: 2, arbitrary: wrongNumber(1).map((text) => ({ text, faults: [''] })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...monsters).map(([text, pointer]) => ({ text, faults: [pointer] })),
  },
)

/** An object of fields, with the faults of all. */
export function objectOf(fields: readonly (readonly [name: string, field: Written<unknown> | undefined])[]): {
  readonly text: string
  readonly faults: readonly string[]
} {
  const given = fields.flatMap(([name, field]) => (field === undefined ? [] : [[name, field] as const]))
  return {
    text: `{${given.map(([name, { text }]) => `${JSON.stringify(name)}:${text}`).join()}}`,
    faults: given.flatMap(([name, { faults }]) =>
      faults.map((fault) => `${step(name.slice(0, 256))}${fault}`),
    ),
  }
}
