/** A call as another party counts it; microseconds. */
export interface Call {
  readonly at: number
  readonly units: number
}

/**
 * Returns which share of `amount` in each `length` was used in the long run, over so many whole windows: what began from the first
 * call on, until the first after those windows. That one had to wait for room, so the time for which all calls waited counts.
 * The calls are in order. @throws Error when none is later than the windows
 */
export function usedShare(calls: readonly Call[], amount: number, length: number, windows: number): number {
  const first = calls[0]?.at ?? Number.NaN
  const next = calls.findIndex(({ at }) => at >= first + windows * length)
  if (next === -1) throw new Error(`expected a call after ${windows} windows of ${length} us, got none`)
  const used = calls.slice(0, next).reduce((sum, { units }) => sum + units, 0)
  return used / amount / ((calls[next]!.at - first) / length)
}
