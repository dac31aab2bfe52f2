import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../../src/core/duration.ts'
import { WaitingRoom } from '../../../../src/redis/slots/waiting-room.ts'

const NOON = 1_800_000_000 * SECOND
/** How often of `times` the key is let in. */
const entered = (room: WaitingRoom, key: string, times: number) =>
  Array.from({ length: times }, () => room.tryEnter(key, NOON)).filter(Boolean).length

describe('places', () => {
  test('a segment that waits alone may take all, however many keys it has', () => {
    const room = new WaitingRoom(4)
    const keys = Array.from({ length: 100 }, (_, n) => `a/${n}`)
    expect(keys.filter((key) => room.tryEnter(key, NOON))).toEqual(keys.slice(0, 4))
    room.leave('a/0')
    expect(room.tryEnter('a/99', NOON)).toBe(true)
  })

  test('several divide them, and each finds one', () => {
    const room = new WaitingRoom(4)
    expect([entered(room, 'a/1', 9), entered(room, 'b', 9), entered(room, 'c', 9)]).toEqual([4, 2, 1])
    for (let n = 0; n < 4; n++) room.leave('a/1')
    expect(entered(room, 'b/2', 9)).toBe(0)
    room.leave('c')
    expect([entered(room, 'b/2', 9), entered(room, 'd', 9), entered(room, 'e', 9)]).toEqual([2, 2, 1])
  })

  test('a room without places has one for each segment', () => {
    const room = new WaitingRoom(0)
    expect([entered(room, 'a', 2), entered(room, 'b', 2)]).toEqual([1, 1])
  })
})

describe('what is given back stays away', () => {
  /** Gives back so many at once; returns how long each stays away, in milliseconds. */
  const away = (room: WaitingRoom, key: string, times: number, now = NOON) =>
    Array.from({ length: times }, () => room.awayFor(key, now) / 1_000)

  test('the first not at all, the others one after the other; at first a second at most', () => {
    const room = new WaitingRoom(4)
    expect(away(room, 'a', 4)).toEqual([0, 5, 10, 15])
    expect(Math.max(...away(room, 'a/b', 1_000))).toBe(1_000)
  })

  test('for as long as its segment has waited, where that is longer', () => {
    const room = new WaitingRoom(4)
    for (let second = 0; second <= 8; second++) {
      const longest = Math.max(...away(room, 'a', 10_000, NOON + second * SECOND))
      expect(longest).toBe(Math.max(1, second) * 1_000)
    }
  })

  test('other segments are not concerned, and all together come as often as one', () => {
    const room = new WaitingRoom(4)
    away(room, 'a', 1_000)
    expect(away(room, 'b', 3)).toEqual([0, 10, 20])
    expect(away(room, 'c', 3)).toEqual([0, 15, 30])
  })

  test('they come twice as often as its handlers end, where that is more', () => {
    const room = new WaitingRoom(4)
    away(room, 'a', 1)
    room.ended('b', NOON)
    for (let n = 0; n < 1_000; n++) room.ended('a/1', NOON + SECOND / 2)
    const later = NOON + 1.2 * SECOND
    expect(away(room, 'a', 4, later).map((ms) => ms * 2)).toEqual([0, 1, 2, 3])
    // A second in which none ended.
    expect(away(room, 'a', 3, later + 2 * SECOND)).toEqual([0, 5, 10])
  })

  test.each([
    [1, 300],
    [7, 300],
    [40, 250],
  ])('with %i segments of %i buckets each, they come some 200 a second', (segments, buckets) => {
    const room = new WaitingRoom(64)
    let now = NOON
    const due = Array.from({ length: segments * buckets }, (_, n) => ({
      key: `s${n % segments}/${n}`,
      at: now,
    }))
    let came = 0
    for (let seconds = 0; seconds < 200; seconds++) {
      now += SECOND
      for (const bucket of due) {
        for (; bucket.at < now; bucket.at += room.awayFor(bucket.key, bucket.at) + 1) {
          if (seconds >= 100) came++
        }
      }
    }
    expect(came / 100).toBeLessThan(230)
    expect(came / 100).toBeGreaterThan(150)
  })
})

test('who was given back nothing for ten seconds is forgotten, and the memory is bounded', () => {
  const room = new WaitingRoom(4)
  room.tryEnter('waits', NOON)
  for (let n = 0; n < 5_000; n++) room.awayFor(`s${n}`, NOON)
  expect(room.size).toBe(1_000)
  expect(room.awayFor('late', NOON)).toBe(SECOND)
  expect(room.tryEnter('late', NOON)).toBe(false)
  room.ended('late', NOON)
  expect(room.awayFor('s1', NOON + 16 * SECOND)).toBe(0)
  expect(room.size).toBe(2)
  room.leave('waits')
  room.tryEnter('a', NOON + 60 * SECOND)
  expect(room.size).toBe(1)
})

test('the share of a segment is kept whatever comes and goes', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c/1', 'c/2'), fc.boolean()), { maxLength: 200 })
  fc.assert(
    fc.property(fc.nat(9), steps, (places, moves) => {
      const room = new WaitingRoom(places)
      const waiting = new Map<string, number>()
      for (const [key, isEntering] of moves) {
        const name = key[0]!
        const before = waiting.get(name) ?? 0
        if (!isEntering) {
          if (before > 0) room.leave(key)
          waiting.set(name, Math.max(0, before - 1))
          continue
        }
        const others = [...waiting].filter(([other, count]) => other !== name && count > 0).length
        const share = Math.max(1, Math.floor(places / (others + 1)))
        expect(room.tryEnter(key, NOON)).toBe(before < share)
        if (before < share) waiting.set(name, before + 1)
      }
    }),
  )
})
