import { expect, test } from 'vitest'
import { InvalidKeyError } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'
import { Stage } from '../../support/stage.ts'

test('the heap that a first segment uses is known for any of its keys', async () => {
  const { shaper } = new Stage('9, 1/s')
  expect(shaper.heap.of('a')).toBe(0)
  await shaper.enqueue('a/1', 'x'.repeat(1_000))
  expect(shaper.heap.of('a/2')).toBeGreaterThan(1_000)
  shaper.limits.setLocal('b/1', '5, 1/s')
  expect(shaper.heap.of('b')).toBeGreaterThan(0)
  expect(shaper.heap.of('c')).toBe(0)
  expect(() => shaper.heap.of('')).toThrow(InvalidKeyError)
  const bytes = shaper.heap.of('a') + shaper.heap.of('b')
  expect(shaper.heap.sum()).toEqual({ bytes, segments: 2 })
})

test('that of a meter is known, and is 0 where another store has its levels', async () => {
  const limits = { '*': '9, 1/h' }
  const meter = new Meter('m', { limits })
  await meter.fill('a/1')
  expect(meter.heap.of('a')).toBeGreaterThan(0)
  expect(meter.heap.of('b')).toBe(0)
  expect(meter.heap.sum()).toEqual({ bytes: meter.heap.of('a'), segments: 1 })
  expect(() => meter.heap.of('')).toThrow(InvalidKeyError)
  await meter.close()
  const store = {
    fill: () => ({ accepted: true, state: { level: 1, at: 0, blockedUntil: 0, interval: 1 }, now: 0 }),
    read: () => ({ state: undefined, now: 0 }),
    drain: async () => undefined,
    close: async () => undefined,
  }
  const elsewhere = new Meter('m', { limits, store })
  await elsewhere.fill('a/1')
  expect(elsewhere.heap.of('a')).toBe(0)
  expect(elsewhere.heap.sum()).toEqual({ bytes: 0, segments: 0 })
})
