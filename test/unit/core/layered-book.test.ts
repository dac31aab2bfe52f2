import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidKeyError, InvalidLimitError } from '../../../src/core/errors.ts'
import { type ChangedRules, differenceOf, LayeredBook, parseLayer } from '../../../src/core/layered-book.ts'
import type { LimitInput } from '../../../src/core/limit.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import type { RuleChange } from '../../../src/core/rule-layers.ts'
import { BASE_ORIGINS, type BaseOrigin } from '../../../src/core/rule-view.ts'

type Limits = Readonly<Record<string, LimitInput>>

const set = (pattern: string, limit: string, by?: string): RuleChange => {
  return { kind: 'set', rule: parseRule(pattern, limit), by }
}
const unset = (pattern: string, by?: string): RuleChange => ({ kind: 'unset', pattern, by })
const reset = (pattern: string): RuleChange => ({ kind: 'reset', pattern })
const load = (limits: Limits, origin: BaseOrigin): RuleChange => ({
  kind: 'load',
  ...parseLayer(limits, origin),
})

/** A book that is changed again and again; the nth change is made at n. */
class Desk {
  book: LayeredBook
  #changes = 0

  constructor(limits: Limits) {
    this.book = LayeredBook.of(parseLayer(limits))
  }

  /** What came of it, in short; undefined: nothing was to be changed. */
  change(change: RuleChange): string | undefined {
    const before = this.book
    const at = ++this.#changes
    const after = before.changed(change, at)
    if (after === undefined) return undefined
    this.book = after
    const changed: ChangedRules = { at, isChanged: true, before, after: this.book }
    const { set, unset } = differenceOf(changed)
    const texts = set.map(({ pattern, limit }) => `${pattern}=${limit.capacity}`)
    return [...texts, ...unset.map((pattern) => `${pattern} gone`)].join(' ')
  }

  get rules(): string[] {
    return this.book.list().map(({ pattern, limit, origin }) => `${pattern}=${limit.capacity} ${origin}`)
  }
}

describe('the layers', () => {
  test('the file overrides code, and overrides set at run time come last: pattern by pattern', () => {
    const desk = new Desk({ '*': '1, 1/s', a: '2, 1/s', b: '3, 1/s' })
    expect(desk.change(load({ a: '4, 1/s', b: '5, 1/s', c: '6, 1/s' }, 'file'))).toBe('a=4 b=5 c=6')
    expect(desk.change(set('b', '7, 1/s'))).toBe('b=7')
    expect(desk.change(set('d', '8, 1/s'))).toBe('d=8')
    expect(desk.rules).toEqual(['*=1 code', 'a=4 file', 'b=7 override', 'c=6 file', 'd=8 override'])
    const governs = (key: string) => desk.book.find(key)?.origin
    expect(['x', 'a/x', 'b/x', 'c', 'd'].map(governs)).toEqual([
      'code',
      'file',
      'override',
      'file',
      'override',
    ])
    expect([desk.book.get('a')?.limit.capacity, desk.book.get('a/x')]).toEqual([4, undefined])
  })

  test('each is replaced as a whole, and the others do not change', () => {
    const desk = new Desk({ a: '1, 1/s', b: '2, 1/s' })
    desk.change(load({ a: '3, 1/s', c: '4, 1/s' }, 'file'))
    desk.change(set('c', '5, 1/s'))
    expect(desk.change(load({ d: '6, 1/s' }, 'file'))).toBe('a=1 d=6')
    expect(desk.rules).toEqual(['a=1 code', 'b=2 code', 'd=6 file', 'c=5 override'])
    expect(desk.change(load({}, 'code'))).toBe('a gone b gone')
    expect(desk.rules).toEqual(['d=6 file', 'c=5 override'])
    expect(desk.change(load({}, 'file'))).toBe('d gone')
    expect(desk.book.find('d')).toBeUndefined()
  })

  test('a change of a rule that is overridden changes nothing in force', () => {
    const desk = new Desk({ a: '1, 1/s' })
    expect(desk.change(load({ a: '2, 1/s' }, 'file'))).toBe('a=2')
    expect(desk.change(load({ a: '9, 1/s' }, 'code'))).toBe('')
    expect(desk.change(set('a', '2, 1/s'))).toBe('')
    expect(desk.change(load({ a: '8, 1/s' }, 'file'))).toBe('')
    expect(desk.change(reset('a'))).toBe('a=8')
  })

  test('the same rules in another order or spelling are no change; one rule more or less is', () => {
    const desk = new Desk({ a: '1, 1/s', b: '2, 60/m' })
    const [a] = desk.book.list()
    expect(
      desk.change(load({ b: '2, 60 per minute', a: { capacity: 1, rate: '1/s' } }, 'code')),
    ).toBeUndefined()
    expect(desk.change(load({ a: '1, 1 / s', b: '2, 60/m', c: '3, 1/s' }, 'code'))).toBe('c=3')
    // Whoever looks for changed limits finds none in what stayed the same.
    expect(desk.book.get('a')!.limit).toBe(a!.limit)
    expect(desk.change(load({ a: '1, 1/s' }, 'code'))).toBe('b gone c gone')
    expect(desk.change(load({ a: '1, 2/s' }, 'code'))).toBe('a=1')
  })

  test('the environment overrides the file', () => {
    const desk = new Desk({ a: '1, 1/s', b: '2, 1/s' })
    desk.change(load({ a: '3, 1/s', b: '4, 1/s', c: '5, 1/s' }, 'environment'))
    expect(desk.change(load({ a: '6, 1/s', d: '7, 1/s' }, 'file'))).toBe('d=7')
    desk.change(set('b', '8, 1/s'))
    const all = ['a=3 environment', 'b=8 override', 'd=7 file', 'c=5 environment']
    expect(desk.rules).toEqual(all)
    expect(desk.change(load({}, 'environment'))).toBe('a=6 c gone')
  })

  test('author and time of a limit stay while it is the same', () => {
    const by = (limits: Limits, by: string): RuleChange => ({
      ...parseLayer(limits, 'file', by),
      kind: 'load',
    })
    const desk = new Desk({ a: '1, 1/s' })
    desk.change(by({ b: '1, 1/s', c: '1, 1/s' }, 'one'))
    expect(desk.change(by({ c: '1, 60/m', b: '1, 1/s' }, 'two'))).toBe('c=1')
    expect(desk.change(by({ c: '1, 60/m', b: '1, 1/s' }, 'three'))).toBeUndefined()
    const authors = desk.book.list().map(({ pattern, by, at }) => [pattern, by, at])
    expect(authors).toEqual([
      ['a', undefined, undefined],
      ['c', 'two', 2],
      ['b', 'one', 1],
    ])
    const layer = parseLayer({ a: '1, 1/s' }, 'environment', 'me')
    expect(LayeredBook.of([layer], { at: 5, version: 1 }).get('a')).toMatchObject({ by: 'me', at: 5 })
  })

  test.each([
    [{ a: '4, 1/s', b: 'nothing' }, InvalidLimitError],
    [{ a: '4, 1/s', 'b*': '4, 1/s' }, InvalidKeyError],
  ])('no layer is made from %j', (limits, error) => {
    expect(() => parseLayer(limits, 'file')).toThrow(error)
  })
})

test('a book says whether it has totals, whichever layer has them', () => {
  const desk = new Desk({ 'stripe/*': '5, 5/s' })
  expect(desk.book.hasTotals).toBe(false)
  desk.change(set('stripe/', '100, 10/s'))
  expect(desk.book.hasTotals).toBe(true)
  expect(desk.book.totalsOf('stripe/eu').map(({ path }) => path)).toEqual(['stripe/'])
  desk.change(reset('stripe/'))
  expect(desk.book.hasTotals).toBe(false)
})

describe('overrides', () => {
  test('author and time are kept', () => {
    const desk = new Desk({ a: '1, 1/s' })
    desk.change(set('a', '2, 1/s', 'ann'))
    desk.change(set('b', '3, 1/s'))
    desk.change(unset('a', 'bob'))
    const { overrides } = desk.book.layers
    expect(overrides).toEqual([
      { pattern: 'a', limit: undefined, by: 'bob', at: 3 },
      { ...parseRule('b', '3, 1/s'), by: undefined, at: 2 },
    ])
    expect(desk.book.get('b')).toEqual({ ...parseRule('b', '3, 1/s'), origin: 'override', at: 2 })
    expect(Object.isFrozen(desk.book.get('b'))).toBe(true)
    expect(desk.change(reset('a'))).toBe('a=1')
    expect(desk.book.get('a')).toEqual({ ...parseRule('a', '1, 1/s'), origin: 'code' })
  })

  test('an unset pattern stays unset through every load, until it is reset or set', () => {
    const desk = new Desk({ '*': '1, 1/s', a: '2, 1/s' })
    expect(desk.change(unset('a'))).toBe('a gone')
    expect(desk.change(unset('a'))).toBeUndefined()
    expect(desk.change(load({ a: '3, 1/s' }, 'file'))).toBe('')
    expect(desk.book.find('a')?.pattern).toBe('*')
    // Also when no layer has the pattern for a while.
    expect([desk.change(load({}, 'file')), desk.change(load({}, 'code'))]).toEqual(['', '* gone'])
    expect(desk.change(unset('a'))).toBeUndefined()
    expect(desk.change(load({ a: '4, 1/s' }, 'code'))).toBe('')
    expect(desk.change(reset('a'))).toBe('a=4')
    desk.change(unset('a'))
    expect(desk.change(set('a', '5, 1/s'))).toBe('a=5')
  })

  test('an override of a pattern that no layer has leaves nothing behind when unset', () => {
    const desk = new Desk({ '*': '1, 1/s' })
    desk.change(set('a', '2, 1/s'))
    expect(desk.change(unset('a'))).toBe('a gone')
    expect(desk.book.layers.overrides).toEqual([])
    expect([desk.change(reset('a')), desk.change(unset('unknown'))]).toEqual([undefined, undefined])
    expect(desk.change(load({ a: '3, 1/s' }, 'file'))).toBe('a=3')
  })
})

describe('versions', () => {
  test('a change for another version is rejected, even if there is nothing to change', () => {
    const book = LayeredBook.of(parseLayer({ a: '1, 1/s' }), { version: 7 })
    const changes = [set('a', '2, 1/s'), unset('b'), reset('a'), load({ a: '1, 1/s' }, 'code')]
    for (const change of changes) {
      for (const ifVersion of [0, 6, 8]) {
        expect(() => book.changed({ ...change, ifVersion }, 1)).toThrow(
          expect.objectContaining({ code: 'rule-book-conflict', expected: ifVersion, version: 7 }),
        )
      }
      const changed = book.changed({ ...change, ifVersion: 7 }, 1)
      expect(changed?.version).toBe(change.kind === 'set' ? 8 : undefined)
    }
    expect(book.changed(set('a', '2, 1/s'), 1)?.version).toBe(8)
  })

  test('setting the same override again is no change; unsetting it, and then setting it, is', () => {
    const desk = new Desk({ a: '1, 1/s' })
    desk.change(set('a', '2, 60/m', 'ann'))
    expect(desk.change(set('a', '2, 60 per minute', 'bob'))).toBeUndefined()
    expect(desk.book.get('a')).toMatchObject({ by: 'ann', at: 1 })
    expect([desk.change(unset('a')), desk.change(set('a', '2, 60/m', 'bob'))]).toEqual(['a gone', 'a=2'])
    expect(desk.book.get('a')).toMatchObject({ by: 'bob', at: 4 })
    expect(desk.book.version).toBe(3)
  })
})

test('a book never changes, and the highest layer that has a pattern wins', () => {
  const pattern = fc.constantFrom('*', 'a', 'a/b')
  const limit = fc.integer({ min: 1, max: 3 }).map((capacity) => `${capacity}, 1/s`)
  const limits = fc.dictionary(pattern, limit, { noNullPrototype: true })
  const change = fc.oneof(
    fc.tuple(pattern, limit).map(([pattern, limit]) => set(pattern, limit)),
    pattern.map((pattern) => unset(pattern)),
    pattern.map(reset),
    fc.tuple(limits, fc.constantFrom(...BASE_ORIGINS)).map(([all, from]) => load(all, from)),
  )
  const property = fc.property(limits, fc.array(change), (first, changes) => {
    const desk = new Desk(first)
    for (const change of changes) {
      const { book } = desk
      const before = [book.list(), structuredClone(book.layers)]
      const saved = desk.change(change)
      expect([book.list(), book.layers]).toEqual(before)
      if (saved === undefined) expect(desk.book).toBe(book)
      else expect(desk.book.version).toBe(book.version + 1)
      const { code, file, environment, overrides } = desk.book.layers
      for (const pattern of ['*', 'a', 'a/b']) {
        const ofPattern = (rule: { readonly pattern: string }) => rule.pattern === pattern
        const said = [overrides, environment, file, code].map((layer) => layer.find(ofPattern))
        const highest = said.find((rule) => rule !== undefined)
        expect(desk.book.get(pattern)?.limit).toBe(highest?.limit)
        if (highest?.limit !== undefined) expect(desk.book.get(pattern)?.at).toBe(highest.at)
      }
    }
  })
  fc.assert(property)
})

test('a book that follows another by one change is as if it were made anew', () => {
  const patterns = fc.constantFrom('*', 'a', 'a/b', 'a/*', '*/b', 'c')
  const limits = fc.constantFrom('1, 1/s', '2, 1/s')
  const changes = fc.oneof(
    fc.tuple(patterns, limits).map(([pattern, limit]) => set(pattern, limit)),
    patterns.map((pattern) => unset(pattern)),
    patterns.map((pattern) => reset(pattern)),
    fc.dictionary(patterns, limits).map((given) => load(given, 'file')),
  )
  const keys = ['a', 'a/b', 'a/b/c', 'x/b', 'c', 'x']
  fc.assert(
    fc.property(fc.dictionary(patterns, limits), fc.array(changes, { maxLength: 12 }), (given, some) => {
      const desk = new Desk(given)
      for (const change of some) {
        desk.change(change)
        const anew = new LayeredBook(desk.book.layers, desk.book.version)
        expect(desk.book.list()).toEqual(anew.list())
        for (const key of keys) expect(desk.book.find(key)).toEqual(anew.find(key))
        expect(desk.book.get('a/b')).toEqual(anew.get('a/b'))
      }
    }),
  )
})
