import type { Limit } from './limit.ts'

/**
 * How a bucket warms up. Its warmth is a time, from 0 (cold) to the `warmUp` of its limit (warm): how much of the
 * warm-up is done. The interval after a cost unit falls with the warmth, on a straight line from `coldInterval` to
 * `interval`; and the warmth grows by that interval. Time in which the bucket could depart and does not cools it by as
 * much. So it is warm after `warmUp` under load, and cold again after as long without.
 *
 * (Guava's `SmoothWarmingUp` has the same line, over stored permits; a queue stores none.)
 */

/**
 * Returns the microseconds that `units` cost units take, one after the other, from `warmth` on. In units of the first
 * interval, n of them take 1 + q + q^2 + ... + q^(n-1) while the bucket warms up, where q = 1 - slope. Two
 * multiplications double such a sum, so a line of 10^9 costs no more than one of thirty. It uses only the four basic
 * operations, so that Lua gets the same bits.
 */
export function spacing({ interval, warmUp, coldInterval }: Limit, warmth: number, units: number): number {
  if (warmth >= warmUp) return interval * units
  const slope = (coldInterval - interval) / warmUp
  const first = coldInterval - slope * warmth
  if (units <= 1) return first * units
  // While the sum is below this, the bucket is not warm.
  const enough = (warmUp - warmth) / first
  const sums: number[] = []
  for (let sum = 1, steps = 1; sum < enough && steps < units; steps *= 2) {
    sums.push(sum)
    sum *= 2 - slope * sum
  }
  let taken = 0
  let total = 0
  for (let power = sums.length - 1; power >= 0; power--) {
    const steps = 2 ** power
    const further = total + sums[power]! * (1 - slope * total)
    if (taken + steps >= units || further >= enough) continue
    taken += steps
    total = further
  }
  // The step that completes the warm-up takes its whole interval.
  return first * (total + (1 - slope * total)) + interval * (units - taken - 1)
}

/** Returns the warmth after `time` was spent on departures. */
export function warmedBy({ warmUp }: Limit, warmth: number, time: number): number {
  return Math.min(warmUp, warmth + time)
}

/** Returns the warmth after `idle` microseconds without a departure. */
export function cooledBy(warmth: number, idle: number): number {
  return Math.max(0, warmth - idle)
}
