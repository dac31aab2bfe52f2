import { describe, expect, test } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../../src/core/duration.ts'
import {
  EMPTY,
  factsAt,
  fill,
  fits,
  forgottenAt,
  isFull,
  levelAt,
  type MeterFill,
  type MeterState,
  waitFor,
} from '../../../src/core/meter.ts'

const T0 = 1_800_000_000_000_000
const TEN: MeterFill = { amount: 1, capacity: 10, interval: SECOND, clamp: false, block: 0 }
const holding = (level: number, at = T0, blockedUntil = 0, interval = SECOND): MeterState => ({
  level,
  at,
  blockedUntil,
  interval,
})

describe('a level', () => {
  test('leaks one unit in each interval, down to nothing', () => {
    expect(levelAt(holding(3), SECOND, T0)).toBe(3)
    expect(levelAt(holding(3), SECOND, T0 + 500_000)).toBe(2.5)
    expect(levelAt(holding(3), SECOND, T0 + 3 * SECOND)).toBe(0)
    expect(levelAt(holding(3), SECOND, T0 + HOUR)).toBe(0)
    expect(levelAt(EMPTY, SECOND, T0)).toBe(0)
  })

  test('does not leak, nor rise, when the clock goes back', () => {
    expect(levelAt(holding(3), SECOND, T0 - 30 * SECOND)).toBe(3)
    expect(levelAt(holding(3), SECOND, T0 - HOUR)).toBe(3)
  })

  test('is full when only the rounding error fits in', () => {
    const tenths = Array.from({ length: 10 }).reduce<number>((sum) => sum + 0.1, 0)
    expect(tenths).not.toBe(1)
    expect(isFull(tenths, 1)).toBe(true)
    expect(isFull(1.5, 1)).toBe(true)
    expect(isFull(0.999, 1)).toBe(false)
  })
})

describe('a fill', () => {
  test('goes in while there is room at its time', () => {
    expect(fill(EMPTY, { ...TEN, amount: 10 }, T0)).toEqual({ accepted: true, state: holding(10) })
    expect(fill(holding(9.5), { ...TEN, amount: 0.5 }, T0)).toEqual({ accepted: true, state: holding(10) })
    const later = T0 + 2 * SECOND
    expect(fill(holding(10), { ...TEN, amount: 2 }, later)).toEqual({
      accepted: true,
      state: holding(10, later),
    })
  })

  test('that does not fit as a whole changes nothing', () => {
    const state = holding(9)
    expect(fill(state, { ...TEN, amount: 1.001 }, T0).state).toBe(state)
    expect(fill(state, { ...TEN, amount: 1.001 }, T0).accepted).toBe(false)
    expect(fill(state, { ...TEN, amount: 1e308 }, T0 + 8 * SECOND).state).toBe(state)
    expect(fill(state, { ...TEN, amount: 1e308 }, T0 + HOUR)).toEqual({ accepted: false, state: EMPTY })
  })

  test('of 0 is accepted within the limit, and changes nothing', () => {
    const state = holding(10)
    expect(fill(state, { ...TEN, amount: 0 }, T0).state).toBe(state)
    expect(fill(state, { ...TEN, amount: 0 }, T0).accepted).toBe(true)
    expect(fill(state, { ...TEN, amount: 0, capacity: 5 }, T0).accepted).toBe(false)
  })

  test('that fits by rounding only does so once, however small it is', () => {
    const crumb = { ...TEN, amount: TEN.capacity * 9e-13 }
    const { accepted, state } = fill(holding(10), crumb, T0)
    expect(accepted).toBe(true)
    expect(state.level).toBeGreaterThan(10)
    expect(fill(state, crumb, T0).accepted).toBe(false)
  })

  test('at an earlier time than the last one leaks nothing twice', () => {
    const state = holding(5)
    const { state: after } = fill(state, TEN, T0 - 59 * SECOND)
    expect(after).toEqual(holding(6))
    expect(fill(after, TEN, T0 + SECOND).state).toEqual(holding(6, T0 + SECOND))
  })

  test('of a tiny or a huge amount is counted', () => {
    const huge = { ...TEN, capacity: 1e9, interval: 1e-3 }
    expect(fill(EMPTY, { ...huge, amount: 1e9 }, T0)).toEqual({
      accepted: true,
      state: holding(1e9, T0, 0, 1e-3),
    })
    expect(fill(EMPTY, { ...huge, amount: 1e9 + 1 }, T0).accepted).toBe(false)
    expect(fill(holding(1), { ...TEN, amount: 1e-9 }, T0).state.level).toBe(1 + 1e-9)
  })
})

describe('a clamped fill that does not fit', () => {
  const clamped = { ...TEN, clamp: true }

  test('fills to the brim, and is refused', () => {
    expect(fill(holding(9.5), { ...clamped, amount: 3 }, T0)).toEqual({
      accepted: false,
      state: holding(10),
    })
    expect(fill(EMPTY, { ...clamped, amount: 50 }, T0)).toEqual({ accepted: false, state: holding(10) })
  })

  test('does not lower the level of a bucket whose capacity was lowered', () => {
    expect(fill(holding(20), clamped, T0 + SECOND).state).toEqual(holding(19, T0 + SECOND))
  })
})

describe('a fill that blocks', () => {
  const blocking = { ...TEN, block: HOUR }

  test('blocks if it does not fit, in either mode', () => {
    const later = T0 + SECOND
    expect(fill(holding(10), { ...blocking, amount: 2 }, later)).toEqual({
      accepted: false,
      state: holding(9, later, later + HOUR),
    })
    expect(fill(holding(10), { ...blocking, amount: 2, clamp: true }, later)).toEqual({
      accepted: false,
      state: holding(10, later, later + HOUR),
    })
  })

  test('refuses everything meanwhile, which changes nothing', () => {
    const blocked = holding(2, T0, T0 + HOUR)
    for (const request of [blocking, { ...blocking, amount: 0 }, { ...blocking, clamp: true, amount: 99 }]) {
      const { accepted, state } = fill(blocked, request, T0 + HOUR - 1)
      expect(accepted).toBe(false)
      expect(state).toBe(blocked)
      expect(factsAt(blocked, SECOND, T0 + HOUR - 1).isBlocked).toBe(true)
    }
  })

  test('ends on time', () => {
    const blocked = holding(2, T0, T0 + HOUR)
    expect(factsAt(blocked, SECOND, T0 + HOUR).isBlocked).toBe(false)
    expect(fits(blocked, blocking, T0 + HOUR)).toBe(true)
    expect(fill(blocked, blocking, T0 + HOUR)).toMatchObject({ accepted: true, state: { level: 1 } })
  })
})

describe('a clock that was set back by more than a minute', () => {
  const back = T0 - HOUR

  test('leaks from the next fill on, accepted or not', () => {
    const { accepted, state } = fill(holding(10), TEN, back)
    expect({ accepted, state }).toEqual({ accepted: false, state: holding(10, back) })
    expect(fill(state, TEN, back + SECOND).accepted).toBe(true)
    expect(fill(holding(3), TEN, back).state).toEqual(holding(4, back))
  })

  test('shifts a block as well', () => {
    const { state } = fill(holding(1, T0, T0 + 5 * MINUTE), TEN, back)
    expect(state).toEqual(holding(1, back, back + 5 * MINUTE))
    expect(fill(holding(1, T0, T0 - 2 * HOUR), TEN, back).state.blockedUntil).toBe(T0 - 3 * HOUR)
    expect(fill(holding(1), TEN, back).state.blockedUntil).toBe(0)
  })

  test('differs from one set back by a minute, which is waited for', () => {
    const state = holding(10)
    expect(fill(state, TEN, T0 - MINUTE).state).toBe(state)
    expect(fill(state, TEN, T0 - MINUTE - 1).state).toEqual(holding(10, T0 - MINUTE - 1))
  })
})

describe('the wait', () => {
  const wait = (state: MeterState, request: Partial<MeterFill>, now = T0) =>
    waitFor(state, { ...TEN, ...request }, now)

  test('is until enough has leaked', () => {
    expect(wait(EMPTY, {})).toBe(0)
    expect(wait(holding(9), {})).toBe(0)
    expect(wait(holding(10), {})).toBeCloseTo(SECOND, 3)
    expect(wait(holding(10), { amount: 2.5 })).toBeCloseTo(2.5 * SECOND, 3)
    expect(wait(holding(20), { amount: 0 })).toBeCloseTo(10 * SECOND, 3)
  })

  test('is infinite for an amount above the capacity', () => {
    expect(wait(EMPTY, { amount: 10 })).toBe(0)
    expect(wait(EMPTY, { amount: 10.001 })).toBe(Number.POSITIVE_INFINITY)
    expect(wait(EMPTY, { amount: 10 * (1 + 9e-13) })).toBe(0)
  })

  test('is until the block is over and there is room', () => {
    expect(wait(holding(2, T0, T0 + MINUTE), {})).toBe(MINUTE)
    expect(wait(holding(10, T0, T0 + SECOND), { amount: 5 })).toBeCloseTo(5 * SECOND, 3)
    expect(wait(holding(2, T0, T0 - 1), {})).toBe(0)
  })

  test('includes the time by which the clock is behind', () => {
    expect(wait(holding(10), {}, T0 - 30 * SECOND)).toBeCloseTo(31 * SECOND, 3)
  })
})

describe('the end', () => {
  test('is when the bucket is empty', () => {
    expect(factsAt(EMPTY, SECOND, T0).emptyIn).toBe(0)
    expect(factsAt(holding(2.5), SECOND, T0).emptyIn).toBe(2.5 * SECOND)
    expect(factsAt(holding(2.5), SECOND, T0 + HOUR).emptyIn).toBe(0)
    expect(factsAt(holding(2.5), SECOND, T0 - 10 * SECOND).emptyIn).toBe(12.5 * SECOND)
    expect(factsAt(holding(2.5), SECOND, T0 - HOUR).emptyIn).toBe(2.5 * SECOND)
  })

  test('comes when it is empty and not blocked', () => {
    expect(forgottenAt(holding(2.5))).toBe(T0 + 2.5 * SECOND + 1)
    expect(forgottenAt(holding(2.5, T0, T0 + HOUR))).toBe(T0 + HOUR + 1)
    // At this time doubles are a quarter of a microsecond apart: it must not be forgotten in the instant of the fill.
    expect(forgottenAt(holding(1, T0, 0, 1e-3))).toBeGreaterThan(T0)
  })
})

describe('a limit that changes', () => {
  const low = { ...TEN, interval: HOUR }

  test('lets the time since the last fill leak at the slower of the two rates', () => {
    expect(levelAt(holding(10), HOUR, T0 + 9 * SECOND)).toBeCloseTo(9.9975, 6)
    expect(levelAt(holding(10, T0, 0, HOUR), SECOND, T0 + 9 * SECOND)).toBeCloseTo(9.9975, 6)
  })

  test('is stored by any fill, with what has leaked; reading stores nothing', () => {
    const now = T0 + 36 * SECOND
    const state = holding(50)
    for (const request of [{ ...low }, { ...low, amount: 0 }, { ...low, amount: 0, capacity: 100 }]) {
      const verdict = fill(state, request, now)
      expect(verdict).toEqual({ accepted: request.capacity === 100, state: holding(49.99, now, 0, HOUR) })
      expect(fill(verdict.state, request, now).state).toBe(verdict.state)
    }
  })

  test('is stored while it is blocked, too', () => {
    const blocked = holding(10, T0, T0 + HOUR)
    const now = T0 + 36 * SECOND
    expect(fill(blocked, low, now).state).toEqual(holding(9.99, now, T0 + HOUR, HOUR))
  })

  test('moves the time at which the level is forgotten', () => {
    const { state } = fill(holding(10), low, T0)
    expect(forgottenAt(holding(10))).toBe(T0 + 10 * SECOND + 1)
    expect(forgottenAt(state)).toBe(T0 + 10 * HOUR + 1)
  })

  test('does not change an empty bucket', () => {
    expect(fill(EMPTY, { ...low, amount: 11 }, T0).state).toBe(EMPTY)
    expect(fill(EMPTY, { ...low, amount: 0 }, T0).state).toBe(EMPTY)
  })

  test('comes too late for a level that has run empty under the previous limit', () => {
    const end = T0 + 10 * SECOND + 1
    expect(levelAt(holding(10), HOUR, end - 1)).toBeGreaterThan(9.9)
    expect(levelAt(holding(10), HOUR, end)).toBe(0)
    expect(fill(holding(10), { ...low, amount: 11 }, end).state).toBe(EMPTY)
    expect(fill(holding(10), { ...low, amount: 10 }, end).accepted).toBe(true)
  })

  test('does not come by waiting: the wait uses the slower limit, and the end the stored one', () => {
    expect(waitFor(holding(10), low, T0)).toBeCloseTo(HOUR, 0)
    expect(waitFor(holding(10, T0, 0, HOUR), TEN, T0)).toBeCloseTo(HOUR, 0)
    expect(factsAt(holding(10, T0, 0, HOUR), SECOND, T0 + HOUR).emptyIn).toBe(9 * HOUR)
  })
})

test("an amount too small to change the level's double counts, too", () => {
  const crumb = { ...TEN, capacity: 1e9, amount: 5.9e-8 }
  let state = fill(EMPTY, { ...crumb, amount: 1e9 }, T0).state
  let taken = 0
  for (; taken < 100_000; taken++) {
    const verdict = fill(state, crumb, T0)
    if (!verdict.accepted) break
    expect(verdict.state.level).toBeGreaterThan(state.level)
    state = verdict.state
  }
  expect(taken * crumb.amount).toBeLessThan(1e9 * 1e-12)
  const wait = waitFor(state, crumb, T0)
  expect(fill(state, crumb, T0 + wait).accepted).toBe(true)
})

test('after the clock was set back, a reading agrees with what a fill would find', () => {
  const blocked = holding(0.5, T0, T0 - 10 * SECOND)
  expect(fits(blocked, TEN, T0 - HOUR)).toBe(true)
  expect(fill(blocked, TEN, T0 - HOUR).accepted).toBe(true)
  expect(factsAt(blocked, SECOND, T0 - HOUR).isBlocked).toBe(false)
  expect(factsAt(holding(1, T0, T0 + SECOND), SECOND, T0 - HOUR + SECOND - 1).isBlocked).toBe(true)
  expect(waitFor(holding(10), TEN, T0 - HOUR)).toBeCloseTo(SECOND, 3)
})
