import { expect, test } from 'vitest'
import { parseLimit } from '../../../../src/core/limit.ts'
import { orderOfCalls, sizeOfCall, weightUnder } from '../../../../src/redis/verbs/admit-calls.ts'
import { request } from '../../../support/backend-driver.ts'

/** By key and number: `a1` is a job of the key `a`. */
const asked = (names: readonly string[]) => names.map((name) => request(name, { key: name[0]! }))

const weigh = () => 3

test('requests for more keys than a call takes follow each other by key, each key in its order', () => {
  expect(orderOfCalls(asked(['a1', 'b1', 'c1', 'b2', 'a2', 'c2', 'a3']))).toEqual([0, 4, 6, 1, 3, 2, 5])
})

test('where an id has two keys, all requests stay where they are', () => {
  const requests = [...asked(['a1', 'b1', 'c1', 'a2']), request('b1', { key: 'a' })]
  expect(orderOfCalls(requests)).toBeUndefined()
})

test('an id that comes twice with one key does not keep the others apart', () => {
  expect(orderOfCalls(asked(['a1', 'b1', 'c1', 'a1']))).toEqual([0, 3, 1, 2])
})

test('requests that go round the keys name each key in one call', () => {
  const requests = asked(Array.from({ length: 200 }, (_, n) => String.fromCharCode(65 + (n % 50)) + n))
  const order = orderOfCalls(requests)!
  const calls: string[][] = []
  for (let from = 0; from < order.length; ) {
    const sorted = order.map((place) => requests[place]!)
    const size = sizeOfCall(sorted, from, weigh)
    calls.push([...new Set(sorted.slice(from, from + size).map(({ key }) => key))])
    from += size
  }
  // With 3.375 for a key and its four jobs.
  expect(calls.map((keys) => keys.length)).toEqual([40, 10])
  expect(new Set(calls.flat()).size).toBe(50)
})

test.each([
  [undefined, 1],
  ['9, 1/s, 3 at once', 1],
  ['9, 1/s, 9/minute, 9/hour', 1.4],
  ['9, 1/s, 9/minute, 90 tokens/hour 9 each', 2.1],
])('a key under %s takes as long as %d without quotas', (limit, keys) => {
  expect(weightUnder(limit === undefined ? undefined : parseLimit(limit))).toBeCloseTo(keys)
})
