import { type Clock, monotonicNow } from './clock.ts'
import { MILLISECOND } from './duration.ts'

/** Node's longest timer, 2^31-1 ms; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** What a timer of Node may be late by: it counts in milliseconds. A wait with less slack must not rely on it. */
const TIMER_LATENESS = 2 * MILLISECOND
/** From so much slack on, nobody minds a timer that is as late as timers are. */
const COARSE = 10 * MILLISECOND

/**
 * The clock of a running process. It sleeps until the instant, or until 2 ms before it where timers are not good
 * enough, and then looks at the clock once a turn of the event loop, so that I/O goes on meanwhile. Timers fire up to
 * 1 ms early, so the clock is always asked again. Waiting turn by turn is kept short: whoever is busy when his moment
 * comes is the one from whom the system takes the processor.
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
    // Also what is due already waits for the next turn: nobody is called back within his own call.
    if (at - monotonicNow() <= 0) turn = setImmediate(look)
    else wait(at - monotonicNow())
    return () => {
      clearTimeout(timer)
      clearImmediate(turn)
    }
  },
}
