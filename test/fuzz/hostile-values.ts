import fc from 'fast-check'
import { oddText, oddValue } from './odd-values.ts'

/** What a getter of a hostile value throws. It is an error of the caller, who gets it back as it is. */
export class TrapError extends Error {
  override readonly message = 'a getter of the caller threw'
}

function trap(): never {
  throw new TrapError()
}

const TRAPS: ProxyHandler<object> = { get: trap, has: trap, ownKeys: trap, getOwnPropertyDescriptor: trap }
const HUGE = [
  'x'.repeat(1_000_000),
  '1'.repeat(300_000),
  ' '.repeat(200_000),
  '1 '.repeat(500),
  '🎟️'.repeat(50_000),
]

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = wrap(value)
  return value
}

function circular(): object {
  const value: Record<string, unknown> = {}
  value['self'] = value
  return value
}

/**
 * How to make a value. fast-check looks into the values that it generates, and would meet their getters; so it gets these, and
 * `made` makes the values, for each call anew.
 */
class Recipe {
  readonly make: () => unknown
  readonly #parts: unknown

  constructor(make: () => unknown, parts?: unknown) {
    this.make = make
    this.#parts = parts
  }

  [fc.toStringMethod](): string {
    return `made(${this.make}, ${fc.stringify(this.#parts)})`
  }
}

/** The value with all that its recipes make. */
export function made(value: unknown): unknown {
  if (value instanceof Recipe) return value.make()
  if (Array.isArray(value)) return value.map(made)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, made(inner)]))
}

/** Values that a caller in JavaScript may pass, and on which careless code throws, hangs or takes long. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.nat(HUGE.length - 1).map((at) => new Recipe(() => HUGE[at])),
  fc
    .constantFrom<() => unknown>(
      () => new Proxy({}, TRAPS),
      () => new Proxy([], TRAPS),
      () => new Proxy(trap, {}),
      () => ({ toString: trap, valueOf: trap, toJSON: trap, [Symbol.toPrimitive]: trap }),
      () => Object.defineProperty([1], 0, { get: trap, enumerable: true }),
      () => nested(10_000, (inner) => [inner]),
      () => nested(10_000, (inner) => ({ inner })),
      () => circular(),
      () => Object.create(null),
      () => Object.create(Array.prototype),
      () => Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`u${index}`, 1])),
      () => Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [Symbol(`${index}`), 1])),
      () => [...Array(20_000)].fill('1/s'),
      () => new Map([['*', '5, 1/s']]),
      () => Object(5),
      () => Object('5, 1/s'),
      () => Object(Symbol('s')),
      () => new Date(Number.NaN),
      () => Promise.resolve('5, 1/s'),
      () => () => undefined,
      () => JSON.parse('{"__proto__": {"capacity": 5, "rate": "1/s"}}'),
      () => 10n ** 5_000n,
      () => Symbol('s'),
    )
    .map((make) => new Recipe(make)),
)

/** One of the values, or an odd or a hostile one in its place. */
export function orHostile<Value>(arbitrary: fc.Arbitrary<Value>, weight = 8): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight, arbitrary: arbitrary as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: oddValue },
    { weight: 1, arbitrary: hostileValue },
  )
}

/** Ways to hand over fields. */
const DISGUISES: readonly ((fields: object, other: unknown) => unknown)[] = [
  (fields) => Object.assign(Object.create(null) as object, fields),
  (fields) => Object.freeze({ ...fields }),
  (fields) => new Proxy(fields, {}),
  (fields) => ({ ...fields, [Symbol('s')]: 1 }),
  (fields) => Object.defineProperty({ ...fields }, '__proto__', { value: {}, enumerable: true }),
  (fields, other) => withGetter(fields, () => trap, other),
  (fields, other) =>
    withGetter(
      fields,
      (value) => {
        let reads = 0
        return () => (reads++ === 0 ? value : other)
      },
      other,
    ),
]

/** The fields, of which the first is read by a getter. */
function withGetter(fields: object, make: (value: unknown) => () => unknown, other: unknown): object {
  const [first = 'x'] = Object.keys(fields)
  const get = make(Reflect.get(fields, first) ?? other)
  return Object.defineProperty({ ...fields }, first, { get, enumerable: true })
}

/** Some of these fields, mostly as a plain object; now and then with another field, or as an object of another kind. */
export function hostileFields(
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<unknown> {
  const known = fc.record(fields, { requiredKeys: [] })
  const field = fc.tuple(fc.oneof(oddText, fc.constantFrom('weight', 'burst', 'cost', 'Capacity')), oddValue)
  return fc.oneof(
    { weight: 8, arbitrary: known },
    {
      weight: 1,
      arbitrary: fc.tuple(known, field).map(([some, [name, value]]) => ({ ...some, [name]: value })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(known, fc.constantFrom(...DISGUISES), oddValue)
        .map(
          ([some, disguise, other]) =>
            new Recipe(() => disguise(made(some) as object, other), { some, disguise, other }),
        ),
    },
  )
}
