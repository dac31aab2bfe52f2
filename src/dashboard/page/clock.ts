import { ServerClock } from './data/server-clock.ts'

/** The only clock that the page reads: milliseconds since the epoch, on this machine. */
export function wallClockMs(): number {
  return Date.now()
}

/** The time on the server; every countdown uses it. */
export const serverClock = new ServerClock(wallClockMs)
