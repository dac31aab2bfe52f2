import { expect, test } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import { HandlerShares } from '../../../src/core/handler-shares.ts'

/** Takes as many as the key may have at this time; answers how many. */
function takeAll(shares: HandlerShares, key: string, now = 0): number {
  let taken = 0
  while (shares.mayTake(key, now)) {
    shares.take(key)
    taken++
  }
  return taken
}

test.each([1, 2, 3, 10, 100])('a key that is alone may have all %i handlers', (size) => {
  expect(takeAll(new HandlerShares(size), 'a')).toBe(size)
})

test.each([
  [1, 1, 0],
  [2, 1, 1],
  [4, 2, 2],
  [10, 7, 3],
  [100, 90, 10],
])('of %i handlers, one of two keys takes %i and leaves %i', (size, most, left) => {
  const shares = new HandlerShares(size)
  shares.mayTake('b', 0)
  expect(takeAll(shares, 'a')).toBe(most)
  expect(shares.free).toBe(left)
  expect(takeAll(shares, 'b')).toBe(left)
})

test('a key with less than its equal share takes the last free handlers', () => {
  const shares = new HandlerShares(10)
  shares.mayTake('b', 0)
  takeAll(shares, 'a')
  for (let n = 0; n < 3; n++) shares.take('b')
  shares.release('a')
  expect([shares.mayTake('a', 0), shares.mayTake('b', 0)]).toEqual([false, true])
  expect(shares.free).toBe(1)
})

test('the shares are equal among all that had work in the last ten seconds', () => {
  const shares = new HandlerShares(12)
  for (const key of ['a', 'b', 'c', 'd']) {
    shares.take(key)
    shares.take(key)
    shares.mayTake(key, 0)
  }
  // 4 are free, more than the root of 12.
  expect(shares.mayTake('a', 0)).toBe(true)
  shares.take('a')
  expect([shares.mayTake('a', 0), shares.mayTake('b', 0)]).toEqual([false, true])
})

test('a key without work for twenty seconds no longer counts', () => {
  const shares = new HandlerShares(10)
  shares.mayTake('b', 0)
  expect(takeAll(shares, 'a', 0)).toBe(7)
  shares.mayTake('a', 9 * SECOND)
  expect(shares.mayTake('a', 11 * SECOND)).toBe(false)
  expect(takeAll(shares, 'a', 21 * SECOND)).toBe(3)
})

test('a key that asks in both periods counts once', () => {
  const shares = new HandlerShares(4)
  for (const now of [0, 11]) for (const key of ['a', 'b']) shares.mayTake(key, now * SECOND)
  shares.take('a')
  shares.take('a')
  // Two are free, and two is each one's share.
  expect([shares.mayTake('a', 12 * SECOND), shares.mayTake('b', 12 * SECOND)]).toEqual([false, true])
})

test('keys with long-running handlers count without asking', () => {
  const shares = new HandlerShares(9)
  shares.mayTake('a', 0)
  for (const key of ['b', 'c']) shares.take(key)
  for (let n = 0; n < 4; n++) shares.take('a')
  expect(shares.mayTake('a', 60 * SECOND)).toBe(false)
})

test('after a long pause no key counts', () => {
  const shares = new HandlerShares(2)
  for (const key of ['b', 'c']) shares.mayTake(key, 0)
  shares.take('a')
  expect(shares.mayTake('a', 99 * SECOND)).toBe(true)
})

test('a key whose handlers end immediately counts as long as the others', () => {
  const shares = new HandlerShares(10)
  shares.mayTake('b', 0)
  shares.take('b')
  shares.release('b')
  expect(takeAll(shares, 'a', 0)).toBe(7)
})

test('it remembers at most as many keys as there are handlers', () => {
  const shares = new HandlerShares(3)
  for (let n = 0; n < 1_000; n++) shares.mayTake(`k${n}`, 0)
  shares.take('a')
  expect([shares.mayTake('a', 0), shares.mayTake('b', 0)]).toEqual([true, true])
  shares.take('b')
  expect([shares.mayTake('a', 0), shares.mayTake('c', 0)]).toEqual([false, true])
})

test('a pool grows and shrinks with its workers', () => {
  const shares = new HandlerShares(0)
  expect(shares.mayTake('a', 0)).toBe(false)
  shares.resize(4)
  shares.resize(-1)
  expect(takeAll(shares, 'a', 20 * SECOND)).toBe(3)
})
