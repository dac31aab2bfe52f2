import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeapUse, type SegmentUse } from '../../../src/core/heap-use.ts'

test('is counted by the first segment of keys', () => {
  const use = new HeapUse()
  const a = use.add('a/x', 10)
  expect(use.add('a', 5)).toBe(a)
  use.add('ab', 3)
  use.grow(a, 2)
  expect(['a/anything', 'ab/x', 'b'].map((key) => use.of(key))).toEqual([17, 3, 0])
  expect(use.sum().bytes).toBe(20)
  expect(use.sum().segments).toBe(2)
  expect(use.sum()).toEqual({ bytes: 20, segments: 2 })
})

test('a segment for which nothing is stored is forgotten, and may come back', () => {
  const use = new HeapUse()
  const first = use.add('a/x', 10)
  use.releaseOf('a/y', 4)
  expect(use.of('a')).toBe(6)
  use.release(first, 6)
  expect([use.of('a'), use.sum().segments, use.sum().bytes]).toEqual([0, 0, 0])
  use.add('a', 1)
  expect([use.of('a'), use.sum().segments, use.sum().bytes]).toEqual([1, 1, 1])
})

test('is the sum of what was added and not released', () => {
  const keys = fc.constantFrom('a', 'a/1', 'b/1', 'b/2', 'c')
  fc.assert(
    fc.property(fc.array(fc.tuple(keys, fc.integer({ min: 1, max: 1_000 })), { maxLength: 50 }), (added) => {
      const use = new HeapUse()
      const uses = added.map(([key, bytes]): [SegmentUse, number] => [use.add(key, bytes), bytes])
      const sumOf = (segment: string) =>
        added.reduce((sum, [key, bytes]) => sum + (key.split('/')[0] === segment ? bytes : 0), 0)
      for (const segment of 'abc') expect(use.of(segment)).toBe(sumOf(segment))
      expect(use.sum().bytes).toBe(sumOf('a') + sumOf('b') + sumOf('c'))
      for (const [segment, bytes] of uses) use.release(segment, bytes)
      expect([use.sum().bytes, use.sum().segments]).toEqual([0, 0])
    }),
  )
})
