import { afterEach, describe, expect, test, vi } from 'vitest'
import { firstSegment } from '../../../src/core/key.ts'
import { LayeredBook, parseLayer } from '../../../src/core/layered-book.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { MOST_WILDCARD_STEPS } from '../../../src/core/rule-bounds.ts'
import { TooManyRulesError } from '../../../src/core/rule-errors.ts'

const LIMIT = '5, 1/s'

/** The book after these patterns were set by hand. */
function withHand(book: LayeredBook, patterns: readonly string[], by?: string, atMost?: number): LayeredBook {
  let after = book
  for (const [index, pattern] of patterns.entries()) {
    const rule = parseRule(pattern, LIMIT)
    after = after.changed({ kind: 'set', rule, by, atMost }, index) ?? after
  }
  return after
}

const EMPTY = LayeredBook.of([])

afterEach(() => {
  vi.restoreAllMocks()
})

/** How often a look-up of the key asks a map. */
function lookUpsOf(book: LayeredBook, key: string): number {
  const get = vi.spyOn(Map.prototype, 'get')
  const rule = book.find(key)
  const { length } = get.mock.calls
  get.mockRestore()
  expect(rule).toBeDefined()
  return length
}

/** Every text of `length` segments, each of them `a` or `*`. */
function shapes(length: number): string[] {
  if (length === 0) return ['']
  return shapes(length - 1).flatMap((rest) => [`/a${rest}`, `/*${rest}`])
}

describe('rules by hand are bounded', () => {
  test('for each author, whatever the first segment', () => {
    const book = withHand(EMPTY, ['a', 'b/1'], 'shop', 2)
    expect(() => withHand(book, ['c'], 'shop', 2)).toThrow(TooManyRulesError)
    expect(() => withHand(book, ['c'], 'shop', 2)).toThrow(
      'expected at most 2 rules set by hand by "shop", got: one more',
    )
    expect(withHand(book, ['c'], 'other', 2).list()).toHaveLength(3)
    expect(withHand(book, ['c'], undefined, 2).list()).toHaveLength(3)
    expect(withHand(book, ['c'], 'shop', 3).list()).toHaveLength(3)
    expect(withHand(book, ['c'], 'shop').list()).toHaveLength(3)
  })

  test('for each first segment, of all tokens together', () => {
    const book = withHand(withHand(EMPTY, ['t/1'], 'one', 2), ['t'], 'two', 2)
    expect(() => withHand(book, ['t/2'], 'three', 2)).toThrow(
      'expected at most 2 rules set by hand for patterns with the first segment "t", got: one more',
    )
    expect(withHand(book, ['ta'], 'three', 2).list()).toHaveLength(3)
  })

  test('and one that is known may be set anew', () => {
    const book = withHand(EMPTY, ['t/1', 't/2'], 'shop', 2)
    const rule = parseRule('t/1', '9, 1/s')
    const after = book.changed({ kind: 'set', rule, by: 'shop', atMost: 1 }, 9)
    expect(after?.get('t/1')?.limit.capacity).toBe(9)
  })

  test('and so are those of other layers that are unset by hand', () => {
    const book = LayeredBook.of(parseLayer({ a: LIMIT, b: LIMIT }))
    const unset = (from: LayeredBook, pattern: string) =>
      from.changed({ kind: 'unset', pattern, by: 'shop', atMost: 1 }, 1)!
    const after = unset(book, 'a')
    expect(() => unset(after, 'b')).toThrow(TooManyRulesError)
    expect(after.changed({ kind: 'reset', pattern: 'a' }, 2)?.list()).toHaveLength(2)
  })

  test('the first segment is all before the first slash', () => {
    expect([firstSegment('a'), firstSegment('a/b/c'), firstSegment('/b')]).toEqual(['a', 'a', ''])
  })
})

describe('a look-up', () => {
  test('takes no more steps with a thousand times as many rules', () => {
    const rules = (count: number) =>
      Array.from({ length: count }, (_, n) => [`t/${n}/*/sms`, `t/${n}/x`])
        .flat()
        .map((pattern) => [pattern, LIMIT])
    const bookOf = (count: number) => LayeredBook.of(parseLayer(Object.fromEntries(rules(count))))
    const [few, many] = [bookOf(1), bookOf(1_000)]
    expect(lookUpsOf(many, 't/0/acct/sms')).toBe(lookUpsOf(few, 't/0/acct/sms'))
  })

  test('has few ways to go, because patterns whose * stand in too many places are refused', () => {
    let book = EMPTY
    const refused: string[] = []
    for (const shape of shapes(9)) {
      try {
        book = withHand(book, [`t${shape}`])
      } catch (error) {
        expect(error).toBeInstanceOf(TooManyRulesError)
        refused.push(shape)
      }
    }
    expect(refused.length).toBeGreaterThan(400)
    const key = `t${'/a'.repeat(9)}`
    expect(lookUpsOf(book, key)).toBeLessThan(MOST_WILDCARD_STEPS + 20)
    expect(() => withHand(book, [`t${refused[0]}`])).toThrow(
      /^expected the patterns with the first segment "t" to have their \* in few different places \(64 steps of a look-up\), got: \d+ with "t/,
    )
    // Others have their own.
    expect(withHand(book, ['u/*/a/*']).find('u/x/a/y')?.pattern).toBe('u/*/a/*')
  })

  test('is not judged by what a deployment brings', () => {
    const brought = Object.fromEntries(shapes(7).map((shape) => [`t${shape}`, LIMIT]))
    const book = LayeredBook.of(parseLayer(brought))
    expect(book.list()).toHaveLength(128)
    expect(() => withHand(book, ['t/*/b'])).toThrow('with "t/*/b"')
    expect(withHand(book, ['t/b']).get('t/b')).toBeDefined()
  })
})
