import fc from 'fast-check'
import { expect, test } from 'vitest'
import { storeRuns } from '../runs.ts'
import { LuaError } from './error.ts'
import { regExpOf } from './pattern-regexp.ts'
import { type Capture, Matcher } from './patterns.ts'

type Found = readonly [start: number, end: number, captures: readonly Capture[]] | 'none' | 'error'

/** The first match from a place on, found as Lua finds it. */
function byMatcher(text: string, pattern: string, from: number): Found {
  const isAnchored = pattern.startsWith('^')
  const matcher = new Matcher(text, pattern)
  try {
    for (let at = from; at <= text.length; at++) {
      const end = matcher.match(at, isAnchored ? 1 : 0)
      if (end !== -1) return [at, end, matcher.captures(at, end)]
      if (isAnchored) break
    }
    return 'none'
  } catch (error) {
    if (error instanceof LuaError) return 'error'
    throw error
  }
}

function byRegExp(regExp: RegExp, text: string, from: number): Found {
  regExp.lastIndex = from
  const found = regExp.exec(text)
  if (found === null) return 'none'
  const [whole, ...captures] = found
  return [found.index, found.index + whole.length, captures.length === 0 ? [whole] : captures]
}

const items = fc.constantFrom(
  ...[
    'a',
    'b',
    '1',
    ' ',
    '/',
    '\\',
    '|',
    '{',
    '^',
    '$',
    '.',
    '%d',
    '%D',
    '%s',
    '%S',
    '%w',
    '%W',
    '%a',
    '%%',
    '%.',
    '%]',
  ],
  ...[
    '[ab]',
    '[^ab]',
    '[a-c1]',
    '[%d_]',
    '[^%s]',
    '[]a]',
    '[^]]',
    '[a-]',
    '[b-a]',
    '[%w-]',
    '[.%]]',
    '%z',
    '[\xff]',
    '\xe9',
  ],
)
const suffix = fc.constantFrom('', '', '', '*', '+', '-', '?')
const piece = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(items, suffix).map((parts) => parts.join('')) },
  { weight: 3, arbitrary: fc.constantFrom('(', ')', '(', ')') },
  { weight: 1, arbitrary: fc.constantFrom('()', '%b()', '%f[a]', '%1', '[', '%') },
)
const patterns = fc
  .tuple(fc.constantFrom('', '', '^'), fc.array(piece, { maxLength: 6 }), fc.constantFrom('', '', '$'))
  .map(([start, pieces, end]) => start + pieces.join('') + end)
const texts = fc
  .array(fc.constantFrom(...'aab1 /\\|{}^$.%]_-\n\0\xff\xe9'), { maxLength: 14 })
  .map((characters) => characters.join(''))

test('a pattern finds the same as a regular expression and as Lua matches it', () => {
  let [made, all] = [0, 0]
  fc.assert(
    fc.property(texts, patterns, fc.nat(5), (text, pattern, place) => {
      const regExp = regExpOf(pattern)
      all++
      if (regExp === undefined) return
      made++
      const from = Math.min(place, text.length)
      expect(byRegExp(regExp, text, from)).toEqual(byMatcher(text, pattern, from))
    }),
    storeRuns(5_000),
  )
  expect(made).toBeGreaterThan(all / 4)
})

test.each(['%bxy', '%f[a]', '(a)%1', '()', '(a', 'a)', '[a', 'a%', '(a)'.repeat(33)])(
  '%s is left to the matcher',
  (pattern) => {
    expect(regExpOf(pattern)).toBeUndefined()
  },
)
