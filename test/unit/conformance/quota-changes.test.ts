import { describe, expect, test } from 'vitest'
import type { Quota } from '../../../src/core/quota.ts'
import { breakersOf } from '../../support/breakers.ts'
import { accept, limit, quota, run, settle, start } from '../../support/history.ts'

/** Fast enough that the pace forbids nothing. */
const FAST = '9000, 1000/s, tolerance 0'
const ruled = (at: number, ...quotas: Quota[]) => limit(at, FAST, 'a', { quotas })
const US = 0.001

const broken = breakersOf('L10')

describe('a changed limit', () => {
  test('goes on from what started before', () => {
    const changed = (z: number, ...after: Quota[]) => [
      ruled(0, quota(9, 1_000)),
      ...run(0, 'w'),
      ...run(10, 'x'),
      ruled(100, ...after),
      ...run(z, 'z'),
    ]
    expect(broken(changed(1_000, quota(2, 1_000)))).toEqual([])
    expect(broken(changed(1_000 - US, quota(2, 1_000)))).toEqual(['z'])
    // The window is another: what counted in the former one is known.
    expect(broken(changed(3_000 - US, quota(2, 3_000)))).toEqual(['z'])
    expect(broken(changed(3_000, quota(2, 3_000)))).toEqual([])
    expect(broken(changed(500 - US, quota(2, 500)))).toEqual(['z'])
    expect(broken(changed(500, quota(2, 500)))).toEqual([])
  })

  test('knows no more than its predecessor counted', () => {
    const longer = (x: number) => [
      ruled(0, quota(9, 1_000)),
      ...run(x, 'x'),
      ruled(2_000, quota(1, 5_000)),
      ...run(2_500, 'y'),
    ]
    expect(broken(longer(1_000))).toEqual([])
    expect(broken(longer(1_001))).toEqual(['y'])
  })

  test('goes on from the quota of the unit that looks back farthest', () => {
    const several = (...before: Quota[]) => [
      ruled(0, ...before),
      ...run(100, 'x'),
      ruled(2_000, quota(1, 5_000)),
      ...run(2_500, 'y'),
    ]
    expect(broken(several(quota(9, 1_000), quota(9, 4_000)))).toEqual(['y'])
    expect(broken(several(quota(9, 4_000), quota(9, 1_000)))).toEqual(['y'])
    expect(broken(several(quota(9, 1_000), quota(9, 4_000, 'tokens', 1)))).toEqual([])
  })

  test('without a quota, or with a shorter one, remembers it for as long as its window lasts', () => {
    for (const between of [[], [quota(9, 100)]]) {
      const gone = (back: number, z: number, y = 500) => [
        ruled(0, quota(9, 1_000)),
        ...run(0, 'x'),
        ruled(10, ...between),
        ...run(y, 'y'),
        ruled(back, quota(1, 1_000)),
        ...run(z, 'z'),
      ]
      expect(broken(gone(600, 1_500 - US))).toEqual(['z'])
      expect(broken(gone(600, 1_500))).toEqual([])
      expect(broken(gone(1_010 - US, 1_500 - US))).toEqual(['z'])
      // Then it is over, and what started meanwhile is not known.
      expect(broken(gone(1_010, 1_499))).toEqual([])
      // So is one in which nothing counts any more; the shorter one knows what it counts itself.
      expect(broken(gone(1_009, 1_500, 1_005))).toEqual(between.length === 0 ? [] : ['z'])
    }
  })

  test('remembers nothing in which nothing counts, and nothing that a longer window knows', () => {
    const empty = [ruled(0, quota(9, 1_000)), ruled(10), ...run(20, 'x'), ruled(30, quota(1, 1_000))]
    expect(broken([...empty, ...run(40, 'y')])).toEqual([])
    const longer = [
      ...[ruled(0, quota(9, 1_000)), ...run(0, 'x'), ruled(10, quota(9, 5_000))],
      ...[ruled(2_000, quota(1, 3_000)), ...run(2_999, 'y')],
    ]
    expect(broken(longer)).toEqual(['y'])
  })

  test('remembers a unit by the least that a job counts that does not say', () => {
    const tokens = (each: number, length = 1_000) => quota(100, length, 'tokens', each)
    const back = (each: number, last: number) => [
      ...[ruled(0, tokens(60)), ...run(0, 'x'), ruled(10, tokens(each, 100)), ...run(200, 'y')],
      ...[ruled(300, tokens(last)), ...run(400, 'z')],
    ]
    expect(broken(back(20, 20))).toEqual([])
    expect(broken(back(20, 21))).toEqual(['z'])
    expect(broken(back(70, 1))).toEqual(['z'])
  })

  test('remembers a calendar until its period ends', () => {
    const HOUR = 3_600_000
    const hour = { period: 'hour', zone: 'UTC' } as const
    const back = (at: number) => [
      ...[ruled(0, quota(9, hour)), ...run(HOUR / 2, 'x'), ruled(HOUR / 2 + 10)],
      ...[ruled(at, quota(1, 2 * HOUR)), ...run(at + 10, 'y', { from: at })],
    ]
    expect(broken(back(HOUR - 1))).toEqual(['y'])
    expect(broken(back(HOUR))).toEqual([])
  })

  test('counts for the successor what is settled later', () => {
    const tokens = (amount: number, length: number) => quota(amount, length, 'tokens', 400)
    const changed = (settled: number) => [
      ruled(0, tokens(1_000, 1_000)),
      ...[accept(0, 'x'), start(0, 'x')],
      ruled(10, tokens(500, 3_000)),
      settle(20, 'x', { tokens: settled }),
      ...[accept(0, 'y'), start(2_999, 'y')],
    ]
    expect(broken(changed(100))).toEqual([])
    expect(broken(changed(101))).toEqual(['y'])
  })

  test('takes over what was settled just before it and is not known yet', () => {
    const tokens = (amount: number, length: number) => quota(amount, length, 'tokens', 400)
    const changed = (z: number) => [
      ruled(0, tokens(1_000, 1_000)),
      ...[accept(0, 'x'), start(0, 'x'), settle(5, 'x', { tokens: 900 })],
      ruled(10, tokens(1_000, 3_000)),
      ...[accept(0, 'z'), start(z, 'z')],
    ]
    expect(broken(changed(11))).toEqual(['z'])
    expect(broken(changed(54), { lag: 50_000 })).toEqual([])
    expect(broken(changed(55), { lag: 50_000 })).toEqual(['z'])
  })

  test('that drops all quotas may be unknown for a while', () => {
    const dropped = [ruled(0, quota(1, 1_000)), ...run(0, 'x'), ruled(100), ...run(110, 'y')]
    const known = [...dropped, ruled(120, quota(1, 1_000)), ...run(200, 'z')]
    expect(broken(known, { settle: 50_000 })).toEqual(['z'])
    // Until a window after it was dropped at the earliest.
    const back = (at: number) => [...dropped, ruled(at, quota(1, 1_000)), ...run(1_105, 'z')]
    expect(broken(back(1_049), { settle: 50_000 })).toEqual(['z'])
    expect(broken(back(1_050), { settle: 50_000 })).toEqual([])
  })

  test('settles: the former one may be in force for a while, and a new quota does not know what started then', () => {
    const settling = (y: number, z: number) => [
      ruled(0),
      ruled(1_000, quota(1, 1_000)),
      ...run(y, 'y'),
      ...run(z, 'z'),
    ]
    expect(broken(settling(1_049, 1_050), { settle: 50_000 })).toEqual([])
    expect(broken(settling(1_050, 1_060), { settle: 50_000 })).toEqual(['z'])
    expect(broken(settling(1_049, 1_050))).toEqual(['z'])
    const lowered = (y: number) => [
      ruled(0, quota(2, 1_000)),
      ...run(0, 'x'),
      ruled(100, quota(1, 1_000)),
      ...run(y, 'y'),
    ]
    expect(broken(lowered(149), { settle: 50_000 })).toEqual([])
    expect(broken(lowered(150), { settle: 50_000 })).toEqual(['y'])
  })
})
