import { ServerClock } from './data/server-clock.ts'

/** The page's only reading of a clock: milliseconds since the epoch, as this machine has it. */
function wallClockMs(): number {
  return Date.now()
}

/** What time it is where the lines are; everything that counts down asks this one. */
export const serverClock = new ServerClock(wallClockMs)
