import { describe, expect, test } from 'vitest'
import type { Recent } from '../../../src/core/line-view.ts'
import { isFamily, weightOf } from '../../../src/dashboard/page/data/family.ts'
import { type Child, sharesOf } from '../../../src/dashboard/page/data/shares.ts'

/** So many starts, the newest at `last`, one each `every` milliseconds. */
function startsOf(count: number, every: number, last = 100_000): Recent {
  const departures = Array.from({ length: count }, (_, n) => ({ at: last - n * every, id: `${n}` }))
  return { verdicts: [], departures }
}

const child = (name: string, part: Partial<Child> = {}): Child => ({ name, weight: 1, waiting: 5, ...part })

describe('shares', () => {
  test('are of the starts of all in one window, and by weight', () => {
    const children = [
      child('a', { weight: 3, recent: startsOf(30, 1_000) }),
      child('b', { recent: startsOf(10, 1_000) }),
    ]
    expect(sharesOf(children, 0, 100_000)).toEqual({
      windowMs: 60_000,
      shares: [
        { name: 'a', starts: 30, share: 0.75, fair: 0.75 },
        { name: 'b', starts: 10, share: 0.25, fair: 0.25 },
      ],
    })
  })

  test('are counted only as far back as each list of starts reaches', () => {
    // Of the busy one only the last 50 are known: five seconds less one gap.
    const children = [
      child('busy', { recent: startsOf(50, 100) }),
      child('calm', { recent: startsOf(20, 1_000) }),
    ]
    const { windowMs, shares } = sharesOf(children, 0, 100_000)
    expect(windowMs).toBe(4_900)
    expect(shares.map(({ starts }) => starts)).toEqual([50, 5])
  })

  test('begin when the page does: what others watched before is not counted for one alone', () => {
    const children = [child('a', { recent: startsOf(20, 1_000) }), child('b', { recent: startsOf(2, 1_000) })]
    expect(sharesOf(children, 97_500, 100_000)).toMatchObject({
      windowMs: 2_500,
      shares: [{ starts: 3 }, { starts: 2 }],
    })
  })

  test('leave out what is not counted, and by weight those in which nothing waits', () => {
    const children = [
      child('family/', { weight: 5 }),
      child('empty', { waiting: 0, recent: startsOf(1, 1_000) }),
      child('a', { recent: startsOf(1, 1_000) }),
    ]
    expect(sharesOf(children, 0, 100_000).shares).toEqual([
      { name: 'family/' },
      { name: 'empty', starts: 1, share: 0.5 },
      { name: 'a', starts: 1, share: 0.5, fair: 1 },
    ])
  })

  test('are unknown before the first start', () => {
    expect(sharesOf([child('a', { recent: startsOf(0, 1) })], 100_000, 100_000)).toEqual({
      windowMs: 0,
      shares: [{ name: 'a', starts: 0, fair: 1 }],
    })
    expect(sharesOf([], 0, 100_000).shares).toEqual([])
  })
})

test.each([
  ['100, 5/s', 1],
  ['100, 5/s, weight 3', 3],
  ['100, 5/s, weight 0.25, 2000/day', 0.25],
  ['100, 5/s, 20 weight/day', 1],
])('the weight in %s is %d', (limit, weight) => {
  expect(weightOf(limit)).toBe(weight)
})

test('a family is named by its slash', () => {
  expect([isFamily('a/'), isFamily('a'), isFamily('a/*/'), isFamily('a/*')]).toEqual([
    true,
    false,
    true,
    false,
  ])
})
