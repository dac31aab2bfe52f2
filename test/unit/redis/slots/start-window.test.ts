import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ClockError } from '../../../../src/redis/slots/offset.ts'
import { allowedFor, type Grant, StartWindow } from '../../../../src/redis/slots/start-window.ts'

const SLOT = 1_000_000
const STEP = 50
const JOB = { id: 'a1', epoch: 1, key: 'a', shard: 0 }

/** The first and the last local time at which a look says yes, in steps of 50 us. The clock shows what it takes for the store's time. */
function openFor(error: ClockError, grant: Partial<Grant> = {}) {
  let now = 0
  const clock = { now: () => now, wake: () => () => undefined }
  const store = { isSound: true, measurement: 1, toLocal: (at: number) => at, error }
  const granted = {
    kind: 'granted',
    startAt: SLOT,
    latest: SLOT + 9_500,
    tolerance: 5_000,
    ...grant,
  } as Grant
  const ports = { clock, leases: { heldUntil: () => Number.POSITIVE_INFINITY } }
  const window = new StartWindow(ports, store, JOB, granted, 1)
  const open: number[] = []
  for (now = SLOT - 20_000; now <= SLOT + 60_000; now += STEP) {
    if (window.look() !== undefined) open.push(now)
  }
  return { first: open[0]! - SLOT, last: open.at(-1)! - SLOT, window }
}

function evenly(error: number): ClockError {
  return { ahead: error, behind: error }
}

// Below a total others have slots by now: a start must not come later than the total tolerates, whatever the clock is off by.
describe('a start that must come by a time', () => {
  test.each([0, 250, 700, 1_500, 2_500, 3_500])('comes by it, with a clock that is off by %i us', (error) => {
    const { first, last } = openFor(evenly(error))
    expect(first - error).toBeGreaterThanOrEqual(-250)
    expect(last + error).toBeLessThanOrEqual(9_500)
    expect(last - first).toBeGreaterThanOrEqual(2_000)
  })

  test('does not come where the clock is off by more than the gate was told', () => {
    expect(openFor(evenly(20_000)).first).toBeNaN()
  })

  test('is overdue from the same time on', () => {
    const { last, window } = openFor(evenly(1_500))
    expect(window.overdue(SLOT + last)).toBeLessThanOrEqual(0)
    expect(window.overdue(SLOT + last + 50)).toBeGreaterThan(0)
  })
})

describe('whatever the clock is off by, up to how far it may be ahead and behind', () => {
  const side = fc.integer({ min: 0, max: 240 }).map((steps) => steps * STEP)
  const tolerance = fc.constantFrom(0, 400, 1_000, 5_000)
  const frozenFor = fc.option(fc.integer({ min: -5_000, max: 8_000 }), { nil: undefined })

  test('a start is neither before its slot, nor before the end of a freeze, nor too late, nor reported too early', () => {
    fc.assert(
      fc.property(side, side, tolerance, frozenFor, (ahead, behind, tolerates, frozen) => {
        const latest = SLOT + 30_000
        const frozenUntil = frozen === undefined ? undefined : SLOT + frozen
        const grant = { tolerance: tolerates, latest, frozenUntil }
        const { first, last, window } = openFor({ ahead, behind }, grant)
        const half = allowedFor(grant) / 2
        const reported = window.startedBy(0, 0) - window.lookedAt
        for (const off of [ahead, -behind, (ahead - behind) / 2]) {
          expect(first - off).toBeGreaterThanOrEqual(-half)
          if (frozen !== undefined) expect(first - off).toBeGreaterThanOrEqual(frozen)
          if (frozen === undefined) expect(SLOT + last - off).toBeLessThanOrEqual(latest)
          expect(reported).toBeGreaterThanOrEqual(-off - half)
        }
        // And no later than that takes.
        const soonest = Math.max(ahead - half, 0, frozen === undefined ? -Infinity : frozen + ahead)
        expect(first).toBeLessThan(soonest + STEP)
        expect(reported).toBe(Math.max(0, behind - half))
      }),
    )
  })

  test('one that is known to be behind is not waited for', () => {
    const { first, last } = openFor({ ahead: 100, behind: 5_500 })
    expect([first, last]).toEqual([0, 4_000])
    expect(openFor({ ahead: 5_500, behind: 100 })).toMatchObject({ first: 5_250, last: 9_400 })
  })
})
