import { describe, expect, test } from 'vitest'
import { TrustedTime } from '../../../../src/redis/scheduler/trusted-time.ts'

const S = 1_000_000
const NOON = 1e15

/** Reads a clock of the store that says noon at the local time 0, and has since been moved by `step` seconds. */
function observe(time: TrustedTime, seconds: number, step = 0, took = 0.001): number {
  const receivedAt = (seconds + took) * S
  time.observe({ sentAt: seconds * S, receivedAt, storeTime: NOON + (seconds + step) * S })
  return (time.until - NOON) / S
}

describe('the clock of the store is trusted', () => {
  test('at once while the local clock confirms it, and the first time 1.2 s later', () => {
    const time = new TrustedTime()
    expect(time.until).toBe(0)
    observe(time, 0)
    expect(time.until).toBe(0)
    observe(time, 1.1)
    expect(time.until).toBe(0)
    expect(observe(time, 1.3)).toBeCloseTo(1.3)
    expect(observe(time, 60)).toBeCloseTo(60)
  })

  test('after a step forward not beyond what it said before, for 1.2 s', () => {
    const time = new TrustedTime()
    observe(time, 0)
    observe(time, 2)
    expect(observe(time, 2.5, 1.5)).toBeCloseTo(2)
    expect(observe(time, 3.6, 1.5)).toBeCloseTo(2)
    expect(observe(time, 3.8, 1.5)).toBeCloseTo(5.3)
  })

  test('after a second step not beyond what it said before that one', () => {
    const time = new TrustedTime()
    observe(time, 0)
    observe(time, 2)
    observe(time, 2.5, 1.5)
    observe(time, 3.5, 3)
    // What it said at 2.5 counts by now, what it said after the second step does not.
    expect(observe(time, 3.8, 3)).toBeCloseTo(4)
    expect(observe(time, 4.8, 3)).toBeCloseTo(7.8)
  })

  test('at once where a step is so small that no lease ends with it', () => {
    const time = new TrustedTime()
    observe(time, 0)
    observe(time, 2)
    expect(observe(time, 3, 0.2)).toBeCloseTo(3.2)
  })

  test('a little later where every answer takes long', () => {
    const time = new TrustedTime()
    for (let seconds = 0; seconds < 60; seconds += 0.5) {
      const until = observe(time, seconds, 0, 0.4)
      if (seconds > 4) expect(until).toBeGreaterThan(seconds - 4)
    }
  })

  test('where it was set back, only from there on', () => {
    const time = new TrustedTime()
    observe(time, 0)
    observe(time, 2)
    expect(observe(time, 3, -600)).toBeCloseTo(-597)
    expect(observe(time, 3.5, -598.5)).toBeCloseTo(-597)
    expect(observe(time, 5, -598.5)).toBeCloseTo(-593.5)
  })
})
