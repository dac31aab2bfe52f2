import type { Durations } from './setup.ts'

/** Small numbers in the same order of size as those of the scripts. */
export const SMALL: Durations = {
  farthest: 1,
  silence: 2,
  leastPassing: 1,
  heardEach: 0,
  grace: 3,
  leaderLease: 2,
  longSleep: 1,
  lost: 1,
  replay: 2,
  clockAllowance: 0.05,
  moment: 1,
  even: 1,
  claimLease: 3,
  lease: 4,
}

/** Those of the scripts, in ticks of 10 ms. */
export const REAL: Durations = {
  farthest: 25,
  silence: 200,
  leastPassing: 50,
  heardEach: 20,
  grace: 500,
  leaderLease: 150,
  longSleep: 100,
  lost: 200,
  replay: 1_000,
  clockAllowance: 0.05,
  moment: 0.0001,
  even: 0.92,
  claimLease: 205,
  lease: 300,
}
/** Microseconds. */
export const TICK = 10_000
