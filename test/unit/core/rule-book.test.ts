import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InvalidKeyError, InvalidLimitError, NoLimitError } from '../../../src/core/errors.ts'
import { type LimitInput, parseMeterLimit } from '../../../src/core/limit.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'

const bookOf = (...patterns: string[]) =>
  new RuleBook(Object.fromEntries(patterns.map((pattern) => [pattern, '5, 1/s'])))

test('the longest matching pattern governs', () => {
  const book = bookOf('*', 'foo', 'foo/bar', 'foo/bar/baz')
  expect(book.resolve('foo/bar/baz').pattern).toBe('foo/bar/baz')
  expect(book.resolve('foo/bar/baz/deeper').pattern).toBe('foo/bar/baz')
  expect(book.resolve('foo/bar/other').pattern).toBe('foo/bar')
  expect(book.resolve('foo/other').pattern).toBe('foo')
  expect(book.resolve('food').pattern).toBe('*')
  expect(book.resolve('a/b/c').pattern).toBe('*')
})

test('a * segment matches one segment, and a literal beats it', () => {
  const book = bookOf('a/*', 'a/b', 'a/*/c', '*/b/c')
  expect(book.resolve('a/x').pattern).toBe('a/*')
  expect(book.resolve('a/b').pattern).toBe('a/b')
  expect(book.resolve('a/b/c').pattern).toBe('a/*/c')
  expect(book.resolve('z/b/c').pattern).toBe('*/b/c')
  expect(book.find('a')).toBeUndefined()
})

test('a key without a limit is rejected, never unlimited', () => {
  expect(() => bookOf('foo').resolve('bar')).toThrow(NoLimitError)
  expect(() => new RuleBook().resolve('bar')).toThrow(
    expect.objectContaining({ code: 'no-limit', key: 'bar', message: expect.stringContaining('"bar"') }),
  )
})

test('rules are set and replaced while the book is in use', () => {
  const book = bookOf('*', 'foo')
  expect(book.set('foo', '9, 2/s').limit.capacity).toBe(9)
  expect(book.resolve('foo').limit.capacity).toBe(9)
  expect(book.list().map(({ pattern }) => pattern)).toEqual(['*', 'foo'])
})

test.each([
  [{ foo: '5' }, InvalidLimitError, 'limit "foo": expected \'<capacity>, <rate>\''],
  [{ foo: null }, InvalidLimitError, 'limit "foo": expected a limit'],
  [{ '': '5, 1/s' }, InvalidKeyError, 'expected the pattern to be 1 to 256 bytes, got: 0'],
  [{ ['__proto__']: '5, 1/s' }, InvalidKeyError, 'no segment __proto__'],
  [{ 'a/b*': '5, 1/s' }, InvalidKeyError, 'expected * to stand alone in its segment, got: "b*" in "a/b*"'],
  [null, InvalidLimitError, "expected limits such as { '*': '100, 10/s' }, got: null"],
  ['5, 1/s', InvalidLimitError, 'got: "5, 1/s" (string)'],
  [['5, 1/s'], InvalidLimitError, 'got: an array of 1'],
])('rejects the book %j with a clear error', (limits, kind, message) => {
  const make = () => new RuleBook(limits as Record<string, LimitInput>)
  expect(make).toThrow(kind)
  expect(make).toThrow(message)
})

test('a book may use another parser of limits', () => {
  expect(() => bookOf('*').set('foo', '9, 5000/s')).toThrow(InvalidLimitError)
  const book = new RuleBook({ '*': '9, 5000/s' }, parseMeterLimit)
  expect(book.resolve('foo').limit.interval).toBe(200)
  expect(book.set('foo', '9, 1000000/s').limit.interval).toBe(1)
})

test('a bad rule changes nothing', () => {
  const book = bookOf('foo')
  expect(() => book.set('foo', '0, 1/s')).toThrow(InvalidLimitError)
  expect(() =>
    book.set('foo', {
      capacity: 1,
      get rate(): string {
        throw new RangeError('mine')
      },
    }),
  ).toThrow(RangeError)
  expect(() => book.set('b*', '5, 1/s')).toThrow(InvalidKeyError)
  expect(book.list()).toHaveLength(1)
  expect(book.resolve('foo').limit.capacity).toBe(5)
})

/** The same rule said slowly: try every pattern, and take the longest, then the one with the later first `*`. */
function naive(patterns: string[], key: string): string | undefined {
  const segments = key.split('/')
  const rank = (pattern: string) =>
    pattern
      .split('/')
      .map((part) => (part === '*' ? '1' : '0'))
      .join('')
  return patterns
    .filter((pattern) => {
      const parts = pattern.split('/')
      return parts.length <= segments.length && parts.every((part, n) => part === '*' || part === segments[n])
    })
    .sort((a, b) => rank(b).length - rank(a).length || rank(a).localeCompare(rank(b)))[0]
}

test('the book and a naive search agree', () => {
  const path = (segment: fc.Arbitrary<string>) =>
    fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'))
  const pattern = path(fc.constantFrom('a', 'b', '*', '')).filter((text) => text !== '' && text !== '/')
  const key = path(fc.constantFrom('a', 'b', 'c', '*', ''))
  const property = fc.property(fc.uniqueArray(pattern), fc.array(key, { minLength: 1 }), (all, keys) => {
    const book = bookOf(...all)
    const ofKeys = all.filter((each) => !each.endsWith('/'))
    const totals = all.flatMap((each) => (each.endsWith('/') ? [each.slice(0, -1)] : []))
    for (const each of keys) {
      expect(book.find(each)?.pattern).toBe(naive(ofKeys, each))
      // Of each length, the one that would govern a key if there were no longer ones.
      const found = [1, 2, 3, 4].flatMap((length) => {
        const one = naive(
          totals.filter((total) => total.split('/').length === length),
          each,
        )
        return one === undefined
          ? []
          : [{ pattern: `${one}/`, path: `${each.split('/').slice(0, length).join('/')}/` }]
      })
      expect(book.totalsOf(each).map(({ pattern, path }) => ({ pattern, path }))).toEqual(found)
    }
  })
  fc.assert(property, { numRuns: 500 })
})

test("rules can be added to a book of only '*'", () => {
  const book = bookOf('*')
  expect(book.find('a/b')?.pattern).toBe('*')
  expect(book.set('*', '9, 1/s')).toBe(book.find('a/b'))
  book.set('a', '7, 1/s')
  expect([book.find('a/b')?.pattern, book.find('b')?.pattern]).toEqual(['a', '*'])
})

test('a total limits a family and governs no key', () => {
  const book = bookOf('stripe/', 'stripe/*/')
  expect(book.find('stripe')).toBeUndefined()
  expect(book.find('stripe/eu/1')).toBeUndefined()
  const pathsOf = (key: string) => book.totalsOf(key).map(({ pattern, path }) => [pattern, path])
  expect(pathsOf('stripe')).toEqual([['stripe/', 'stripe/']])
  expect(pathsOf('stripe/eu/1')).toEqual([
    ['stripe/', 'stripe/'],
    ['stripe/*/', 'stripe/eu/'],
  ])
  expect(pathsOf('stripes')).toEqual([])
  // The literal one before the one that matches any segment; a total of its own length.
  const nearer = book.with({ ...book.list()[0]!, pattern: 'stripe/eu/' })
  expect(nearer.totalsOf('stripe/eu').map(({ pattern }) => pattern)).toEqual(['stripe/', 'stripe/eu/'])
  expect(
    nearer
      .without('stripe/')
      .totalsOf('stripe/us')
      .map(({ pattern }) => pattern),
  ).toEqual(['stripe/*/'])
  expect(pathsOf('stripe/eu')).toHaveLength(2)
})

test("a total beside '*' leaves that the only rule of keys", () => {
  const book = bookOf('*', 'a/')
  expect(book.find('a')?.pattern).toBe('*')
  expect(book.totalsOf('a/1').map(({ path }) => path)).toEqual(['a/'])
  expect(() => bookOf('/')).toThrow("expected the pattern of a total to name a family, such as 'stripe/'")
})
