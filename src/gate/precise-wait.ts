import { type Clock, monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'

/** Node's longest timer, 2^31-1 ms; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** Timers of Node count in milliseconds and may fire almost one late; the rest is waited for turn by turn. */
const LAST_STRETCH = 2 * MILLISECOND

/**
 * The clock of a running process. A precise wait sleeps until 2 ms before the instant, then looks at the clock once
 * a turn of the event loop, so that I/O goes on meanwhile. Timers fire up to 1 ms early, so the clock is always
 * asked again.
 */
export const systemClock: Clock = {
  now: monotonicNow,

  wake(at, callback, precise) {
    let timer: NodeJS.Timeout | undefined
    let turn: NodeJS.Immediate | undefined
    const look = () => {
      const left = at - monotonicNow()
      if (left <= 0) callback()
      else wait(left)
    }
    const wait = (left: number) => {
      const sleep = precise ? left - LAST_STRETCH : left
      if (sleep < MILLISECOND && precise) turn = setImmediate(look)
      else timer = setTimeout(look, Math.min(Math.floor(sleep / MILLISECOND), LONGEST_TIMER_MS)).unref()
    }
    // Also what is due already waits for the next turn: nobody is called back within his own call.
    if (at - monotonicNow() <= 0) turn = setImmediate(look)
    else wait(at - monotonicNow())
    return () => {
      clearTimeout(timer)
      clearImmediate(turn)
    }
  },
}
