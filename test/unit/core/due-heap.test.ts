import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DueHeap } from '../../../src/core/due-heap.ts'

interface Named {
  handle: number
  readonly name: number
}

const entry = (name: number): Named => ({ handle: -1, name })

test('an empty heap is never due', () => {
  const heap = new DueHeap<Named>()
  expect(heap.size).toBe(0)
  expect(heap.earliest).toBe(Number.POSITIVE_INFINITY)
  expect(heap.peek()).toBeUndefined()
  heap.remove(entry(1))
  expect(heap.inOrder()).toEqual([])
})

test('entries come out by due time', () => {
  const heap = new DueHeap<Named>()
  const dues = Array.from({ length: 1_000 }, (_, n) => (n * 7_919) % 1_009)
  for (const [n, due] of dues.entries()) heap.set(entry(n), due)
  const out: number[] = []
  for (let head = heap.peek(); head !== undefined; head = heap.peek()) {
    out.push(heap.earliest)
    heap.remove(head)
    expect(head.handle).toBe(-1)
  }
  expect(out).toEqual(dues.toSorted((a, b) => a - b))
  heap.set(entry(1), 5)
  expect(heap.earliest).toBe(5)
})

test('after any sets, moves and removals the heap agrees with a sorted list', () => {
  const step = fc.record({ name: fc.nat(39), due: fc.nat(20), remove: fc.boolean() })
  const property = fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const heap = new DueHeap<Named>()
    const entries = Array.from({ length: 40 }, (_, name) => entry(name))
    const model = new Map<number, number>()
    for (const { name, due, remove } of steps) {
      if (remove) {
        heap.remove(entries[name]!)
        model.delete(name)
      } else {
        heap.set(entries[name]!, due)
        model.delete(name)
        model.set(name, due)
        expect(heap.dueOf(entries[name]!)).toBe(due)
      }
      expect(heap.size).toBe(model.size)
      expect(heap.earliest).toBe(Math.min(...model.values()))
      const head = heap.peek()
      if (head !== undefined) expect(model.get(head.name)).toBe(heap.earliest)
    }
    const inOrder = [...model].sort(([, a], [, b]) => a - b).map(([name]) => name)
    expect(heap.inOrder().map(({ name }) => name)).toEqual(inOrder)
    expect([...heap.first()].map(({ name }) => name)).toEqual(inOrder)
    expect(heap.latest).toBe(Math.max(...model.values()))
    const takenOut: number[] = []
    for (let first = heap.peek(); first !== undefined; first = heap.peek()) {
      takenOut.push(first.name)
      heap.remove(first)
    }
    expect(takenOut).toEqual(inOrder)
  })
  fc.assert(property)
})

test('a large heap releases its memory as it empties, and keeps its order', () => {
  const heap = new DueHeap<Named>()
  const entries = Array.from({ length: 5_000 }, (_, name) => entry(name))
  for (const one of entries) heap.set(one, (one.name * 7_919) % 1_009)
  const buffers = new Set(entries.map(({ handle }) => handle))
  expect(buffers.size).toBe(5_000)
  const left = entries.filter(({ name }) => name % 100 === 0)
  for (const one of entries) if (!left.includes(one)) heap.remove(one)
  // Handles are places in arrays, which are as long as the largest.
  expect(Math.max(...left.map(({ handle }) => handle))).toBeLessThan(256)
  const inOrder = left.toSorted((a, b) => heap.dueOf(a) - heap.dueOf(b) || a.name - b.name)
  expect(heap.inOrder()).toEqual(inOrder)
  for (const one of inOrder) {
    expect(heap.peek()).toBe(one)
    heap.remove(one)
  }
  expect(heap.size).toBe(0)
})
