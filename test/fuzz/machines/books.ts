import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { checkKey } from '../../../src/core/key.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { shardOf } from '../../../src/redis/scripts/keys.ts'
import { pureMachine } from '../machine.ts'
import { oddText, orOdd } from '../odd-values.ts'
import { outcomeOf } from '../refusals.ts'

const segment = fc.oneof(fc.constantFrom('a', 'b', '*', 'a*', '__proto__', 'constructor'), oddText)
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'))
const LIMIT = '5, 1/s'

/** The longest pattern that covers the key, by comparing all of them. */
function governing(patterns: readonly string[], key: string): string | undefined {
  const segments = key.split('/')
  const covers = (pattern: string) => {
    const parts = pattern.split('/')
    return (
      parts.length <= segments.length &&
      parts.every((part, index) => part === '*' || part === segments[index])
    )
  }
  // Of equally long ones, that with a literal where the other has its first wildcard.
  const rank = (pattern: string) =>
    pattern
      .split('/')
      .map((part) => (part === '*' ? '0' : '1'))
      .join('')
  const fitting = patterns.filter((pattern) => covers(pattern))
  return fitting.sort(
    (one, other) => rank(other).length - rank(one).length || (rank(one) < rank(other) ? 1 : -1),
  )[0]
}

/** Patterns and keys: refused by name, or found by a search that compares all patterns. */
export const books = pureMachine(
  {
    name: 'rule books',
    inputs: fc.tuple(fc.array(orOdd(path, 12), { maxLength: 6 }), fc.array(path, { maxLength: 3 })),
    few: 2_000,
    share: 8,
  },
  ([patterns, keys]) => {
    const book = new RuleBook()
    const known: string[] = []
    for (const pattern of patterns as string[]) {
      const outcome = outcomeOf(() => book.set(pattern, LIMIT), 'invalid-key', 'invalid-limit')
      if (outcome.kind === 'value' && !known.includes(pattern)) known.push(pattern)
    }
    deepStrictEqual(
      book.list().map((rule) => rule.pattern),
      known,
    )
    for (const key of keys) {
      if (outcomeOf(() => checkKey(key), 'invalid-key').kind === 'refused') continue
      deepStrictEqual(book.find(key)?.pattern, governing(known, key), key)
      const shard = shardOf(key, 7)
      ok(Number.isInteger(shard) && shard >= 0 && shard < 7)
      deepStrictEqual(shardOf(`${key}/below`, 7), shard)
    }
  },
)
