/** Microseconds of the monotonic clock of this machine (CLOCK_MONOTONIC), which all of its processes share. */
export function hostNow(): number {
  return Number(process.hrtime.bigint()) / 1_000
}
