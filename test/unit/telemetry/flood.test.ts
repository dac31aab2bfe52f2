import { expect, test } from 'vitest'
import { Flood, Repetition } from '../../../src/telemetry/flood.ts'
import { PatternLabels } from '../../../src/telemetry/pattern-labels.ts'

const SECOND = 1_000_000

test('a flood lets the first lines of every ten seconds through, and says how many it suppressed', () => {
  const flood = new Flood(2)
  expect([0, 1, 2, 9.9 * SECOND].map((now) => flood.pass(now))).toEqual([0, 0, undefined, undefined])
  expect([10 * SECOND, 10 * SECOND, 10 * SECOND].map((now) => flood.pass(now))).toEqual([2, 0, undefined])
  expect(flood.pass(99 * SECOND)).toBe(1)
})

test('each repeated text passes once in ten seconds', () => {
  const repetition = new Repetition()
  expect(repetition.note('a', 0)).toBe(0)
  expect(repetition.note('a', SECOND)).toBeUndefined()
  expect(repetition.note('b', SECOND)).toBe(0)
  expect(repetition.note('a', 2 * SECOND)).toBeUndefined()
  expect(repetition.note('a', 10 * SECOND)).toBe(2)
  expect(repetition.note('b', 10 * SECOND)).toBeUndefined()
})

test('only about a hundred texts are remembered', () => {
  const repetition = new Repetition()
  for (let n = 0; n < 100; n++) expect(repetition.note(`${n}`, 0)).toBe(0)
  expect(repetition.note('99', 1)).toBeUndefined()
  expect(repetition.note('new', 1)).toBe(0)
  expect(repetition.note('99', 1)).toBe(0)
  expect(repetition.note('new', 1)).toBeUndefined()
})

test('patterns have their own labels up to a bound, and keep them', () => {
  const labels = new PatternLabels(2)
  expect(['a', 'b', 'c', 'a', 'd', 'b'].map((pattern) => labels.of(pattern))).toEqual([
    'a',
    'b',
    'other',
    'a',
    'other',
    'b',
  ])
  expect([...labels.known]).toEqual(['a', 'b'])
})
