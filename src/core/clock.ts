import { MILLISECOND } from './duration.ts'

/** The only source of time. Algorithms get `now` as an argument; code that has to wait gets a clock. */
export interface Clock {
  /** Microseconds since the epoch, as a double; never goes back. */
  now(): number
  /**
   * Calls `callback` once at `at` or later, never synchronously. Returns a function that cancels it. `slack`: by how
   * many microseconds a late call does no harm; less slack costs more processor time. A pending call does not keep the
   * process alive.
   */
  wake(at: number, callback: () => void, slack: number): () => void
}

/** Node computes it anew at each reading, which takes as long as reading the clock. */
const ORIGIN_MS = performance.timeOrigin

/** Reads the real clock; nothing else does. It is monotonic: a step of the machine's wall clock moves no departure. */
export function monotonicNow(): number {
  return (ORIGIN_MS + performance.now()) * 1_000
}

/**
 * Reads the wall clock, in milliseconds since the epoch, for times that are compared with those of other machines. It
 * may go backwards.
 */
export function wallClockMs(): number {
  return Date.now()
}

/** Node's longest timer, 2^31-1 ms; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** How late a Node timer may be: it counts in milliseconds. A wait with less slack must not rely on it. */
const TIMER_LATENESS = 2 * MILLISECOND
/** From this much slack on, a plain timer is precise enough. */
const COARSE = 10 * MILLISECOND

/**
 * The real clock. It sleeps until the instant, or until 2 ms before it if timers are not precise enough, and then
 * checks the time once per turn of the event loop, so that I/O continues meanwhile. Timers fire up to 1 ms early, so
 * the time is always checked again. The phase of checking is short: the scheduler of the system preempts busy
 * processes.
 */
export const systemClock: Clock = {
  now: monotonicNow,

  wake(at, callback, slack) {
    const lastStretch = slack < TIMER_LATENESS ? TIMER_LATENESS : 0
    let timer: NodeJS.Timeout | undefined
    let turn: NodeJS.Immediate | undefined
    const look = () => {
      const left = at - monotonicNow()
      if (left <= 0) callback()
      else wait(left)
    }
    const wait = (left: number) => {
      const sleep = (left - lastStretch) / MILLISECOND
      const wholeMs = slack < COARSE ? Math.floor(sleep) : Math.ceil(sleep)
      if (wholeMs < 1) turn = setImmediate(look)
      else timer = setTimeout(look, Math.min(wholeMs, LONGEST_TIMER_MS)).unref()
    }
    // A call that is due already waits for the next turn, too: callbacks are never synchronous.
    if (at - monotonicNow() <= 0) turn = setImmediate(look)
    else wait(at - monotonicNow())
    return () => {
      clearTimeout(timer)
      clearImmediate(turn)
    }
  },
}
