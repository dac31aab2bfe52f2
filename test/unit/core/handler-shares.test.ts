import { describe, expect, test } from 'vitest'
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

test('a pool grows and shrinks with its workers', () => {
  const shares = new HandlerShares(0)
  expect(shares.mayTake('a', 0)).toBe(false)
  shares.resize(4)
  shares.resize(-1)
  expect(takeAll(shares, 'a', 200 * SECOND)).toBe(3)
})

describe.each([
  { what: 'segment', a: 'a', b: 'b', c: 'c', d: 'd', remembered: 60 * SECOND },
  { what: 'key of one segment', a: 's/a', b: 's/b', c: 's/c', d: 's', remembered: 10 * SECOND },
] as const)('a $what', ({ what, a, b, c, d, remembered }) => {
  test.each([1, 2, 3, 10, 100])('that is alone may have all %i handlers', (size) => {
    expect(takeAll(new HandlerShares(size), a)).toBe(size)
  })

  test.each([
    [1, 1, 0],
    [2, 1, 1],
    [4, 2, 2],
    [10, 7, 3],
    [100, 90, 10],
  ])('of %i handlers, one of two takes %i and leaves %i', (size, most, left) => {
    const shares = new HandlerShares(size)
    shares.mayTake(b, 0)
    expect(takeAll(shares, a)).toBe(most)
    expect(shares.free).toBe(left)
    if (left > 0) expect(shares.ask(a, 0)).toBe(what === 'segment' ? 'segment' : 'key')
    expect(takeAll(shares, b)).toBe(left)
  })

  test('with less than its equal share takes the last free handlers', () => {
    const shares = new HandlerShares(10)
    shares.mayTake(b, 0)
    takeAll(shares, a)
    for (let n = 0; n < 3; n++) shares.take(b)
    shares.release(a)
    expect([shares.mayTake(a, 0), shares.mayTake(b, 0)]).toEqual([false, true])
    expect(shares.free).toBe(1)
  })

  test('has an equal share among all that had work lately', () => {
    const shares = new HandlerShares(12)
    for (const name of [a, b, c, d]) {
      shares.take(name)
      shares.take(name)
      shares.mayTake(name, 0)
    }
    // 4 are free, more than the root of 12.
    expect(shares.mayTake(a, 0)).toBe(true)
    shares.take(a)
    expect([shares.mayTake(a, 0), shares.mayTake(b, 0)]).toEqual([false, true])
  })

  test('without work for two periods no longer counts', () => {
    const shares = new HandlerShares(10)
    shares.mayTake(b, 0)
    expect(takeAll(shares, a, 0)).toBe(7)
    shares.mayTake(a, 0.9 * remembered)
    expect(shares.mayTake(a, 1.1 * remembered)).toBe(false)
    expect(takeAll(shares, a, 2.2 * remembered)).toBe(3)
  })

  test('that asks in both periods counts once', () => {
    const shares = new HandlerShares(4)
    for (const now of [0, 1.1 * remembered]) for (const name of [a, b]) shares.mayTake(name, now)
    shares.take(a)
    shares.take(a)
    // Two are free, and two is each one's share.
    const now = 1.2 * remembered
    expect([shares.mayTake(a, now), shares.mayTake(b, now)]).toEqual([false, true])
  })

  test('with long-running handlers counts without asking', () => {
    const shares = new HandlerShares(9)
    shares.mayTake(a, 0)
    for (const name of [b, c]) shares.take(name)
    for (let n = 0; n < 4; n++) shares.take(a)
    expect(shares.mayTake(a, 6 * remembered)).toBe(false)
  })

  test('with long-running handlers counts no more when they have ended', () => {
    const shares = new HandlerShares(9)
    shares.take(b)
    shares.mayTake(a, 6 * remembered)
    shares.release(b)
    expect(takeAll(shares, a, 6 * remembered)).toBe(9)
  })

  test('counts no more after a long pause', () => {
    const shares = new HandlerShares(2)
    for (const name of [b, c]) shares.mayTake(name, 0)
    shares.take(a)
    expect(shares.mayTake(a, 9 * remembered)).toBe(true)
  })

  test('whose handlers end immediately counts as long as the others', () => {
    const shares = new HandlerShares(10)
    shares.mayTake(b, 0)
    shares.take(b)
    shares.release(b)
    expect(takeAll(shares, a, 0)).toBe(7)
  })

  test('is one of at most as many that are remembered as there are handlers', () => {
    const shares = new HandlerShares(3)
    for (let n = 0; n < 1_000; n++) shares.mayTake(what === 'segment' ? `k${n}` : `s/k${n}`, 0)
    shares.take(a)
    expect([shares.mayTake(a, 0), shares.mayTake(b, 0)]).toEqual([true, true])
    shares.take(b)
    expect([shares.mayTake(a, 0), shares.mayTake(c, 0)]).toEqual([false, true])
  })
})

describe('a segment with many keys', () => {
  test('has no more handlers for it', () => {
    const shares = new HandlerShares(100)
    shares.mayTake('calm/x', 0)
    let taken = 0
    for (let n = 0; n < 200; n++) taken += takeAll(shares, `busy/${n}`)
    expect(taken).toBe(90)
    expect(takeAll(shares, 'calm/x')).toBe(10)
    // Half is its share, however many keys ask.
    for (let freed = 0; freed < 40; freed++) {
      shares.release('busy/0')
      if (freed === 0) expect(shares.ask('busy/new', 0)).toBe('segment')
      expect([shares.mayTake('busy/new', 0), takeAll(shares, 'calm/x')]).toEqual([false, 1])
    }
    shares.release('busy/0')
    expect([shares.mayTake('calm/x', 0), shares.mayTake('busy/new', 0)]).toEqual([false, true])
  })

  test('does not crowd out the memory of another, nor the keys of another', () => {
    const shares = new HandlerShares(10)
    for (const key of ['calm/x', 'calm/y']) shares.mayTake(key, 0)
    for (let n = 0; n < 5_000; n++) shares.mayTake(`busy/${n}`, 0)
    // Ten, less three for the segment and two for the other key of its own.
    expect(takeAll(shares, 'calm/x')).toBe(5)
    expect(shares.ask('calm/x', 0)).toBe('key')
    expect(takeAll(shares, 'calm/y')).toBe(2)
    expect([1, 2, 3].map((n) => takeAll(shares, `busy/${n}`))).toEqual([1, 1, 1])
  })

  test('keeps a part of its share for a key that is calm beside a busy one', () => {
    const shares = new HandlerShares(100)
    for (const key of ['other', 's/calm']) shares.mayTake(key, 0)
    expect(takeAll(shares, 's/busy')).toBe(83)
    expect(takeAll(shares, 's/calm')).toBe(7)
    expect(takeAll(shares, 'other')).toBe(10)
  })

  test('counts with its first segment alone, with and without others', () => {
    const shares = new HandlerShares(4)
    shares.mayTake('b', 0)
    for (const key of ['a', 'a/x']) shares.take(key)
    expect([shares.mayTake('a/y/z', 0), shares.mayTake('ab', 0)]).toEqual([false, true])
    expect([shares.allows('a/y/z'), shares.allows('ab')]).toEqual([false, true])
  })
})

test('a segment that worked in the last minute is counted, though there were as many as handlers before it', () => {
  const shares = new HandlerShares(2)
  for (const key of ['b/1', 'c/1']) shares.mayTake(key, 0)
  expect(shares.mayTake('a', 65 * SECOND)).toBe(true)
  shares.take('a')
  shares.release('a')
  expect(takeAll(shares, 'b/2', 120 * SECOND)).toBe(1)
})

test('a segment lacks handlers when all are taken and it has less than its share', () => {
  const shares = new HandlerShares(4)
  for (let n = 0; n < 3; n++) shares.take(`a/${n}`)
  shares.mayTake('b', 0)
  expect(shares.lacks('b')).toBe(false)
  shares.take('a/3')
  expect([shares.lacks('b'), shares.lacks('unknown'), shares.lacks('a/9')]).toEqual([true, true, false])
  for (let n = 0; n < 2; n++) {
    shares.release(`a/${n}`)
    shares.take('b')
  }
  expect([shares.lacks('b'), shares.lacks('a/9')]).toEqual([false, false])
})
