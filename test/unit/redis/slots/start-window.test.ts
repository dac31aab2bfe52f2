import { describe, expect, test } from 'vitest'
import { type Grant, StartWindow } from '../../../../src/redis/slots/start-window.ts'

const SLOT = 1_000_000
const JOB = { id: 'a1', epoch: 1, key: 'a', shard: 0 }

/** The first and the last local time at which a look says yes, in steps of 50 us; the clocks agree, give or take `error`. */
function openFor(error: number, grant: Partial<Grant> = {}) {
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
  for (now = SLOT - 20_000; now <= SLOT + 60_000; now += 50) if (window.look() !== undefined) open.push(now)
  return { first: open[0]! - SLOT, last: open.at(-1)! - SLOT, window }
}

// Below a total others have slots by now: a start must not come later than the total tolerates, whatever the clock is off by.
describe('a start that must come by a time', () => {
  test.each([0, 250, 700, 1_500, 2_500, 3_500])('comes by it, with a clock that is off by %i us', (error) => {
    const { first, last } = openFor(error)
    expect(first - error).toBeGreaterThanOrEqual(-250)
    expect(last + error).toBeLessThanOrEqual(9_500)
    expect(last - first).toBeGreaterThanOrEqual(2_000)
  })

  test('does not come where the clock is off by more than the gate was told', () => {
    expect(openFor(20_000).first).toBeNaN()
  })

  test('is overdue from the same time on', () => {
    const { last, window } = openFor(1_500)
    expect(window.overdue(SLOT + last)).toBeLessThanOrEqual(0)
    expect(window.overdue(SLOT + last + 50)).toBeGreaterThan(0)
  })
})
