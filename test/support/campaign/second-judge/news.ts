/** For so long something was done to a process, or to the store and with it to all. */
export interface Disturbance {
  /** Absent: the store. */
  readonly path?: string | undefined
  readonly from: number
  readonly until: number
}

/** Until a process has found the store again; microseconds. */
const FINDS_AGAIN = 5_000_000

/**
 * When the store must have heard of what a process did at `at`: `lag` later, and where either of them was disturbed within that
 * time, so long after it was over. What happened to another process, or at another time, delays no news.
 */
export function heardBy(
  at: number,
  process: string,
  lag: number,
  disturbances: readonly Disturbance[],
): number {
  let by = at + lag
  for (const { path, from, until } of disturbances.toSorted((a, b) => a.from - b.from)) {
    if ((path !== undefined && path !== process) || until < at || from > by) continue
    by = Math.max(by, until + FINDS_AGAIN)
  }
  return by
}
