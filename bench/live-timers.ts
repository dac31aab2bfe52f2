type Callback = (...given: unknown[]) => void
type Arm = (callback: Callback, ms?: number) => object
type Disarm = (timer: never) => void

/**
 * Counts the timers that this process holds, also those that do not keep it alive: Node's own list of active
 * resources leaves them out. Call it before anybody sets one.
 */
export function countTimers(): () => number {
  const live = new Set<unknown>()
  const firesOnce =
    (arm: Arm): Arm =>
    (callback, ms) => {
      const timer = arm(() => {
        live.delete(timer)
        callback()
      }, ms)
      live.add(timer)
      return timer
    }
  const firesAgain =
    (arm: Arm): Arm =>
    (callback, ms) => {
      const timer = arm(callback, ms)
      live.add(timer)
      return timer
    }
  const ends =
    (disarm: Disarm) =>
    (timer: never): void => {
      live.delete(timer)
      disarm(timer)
    }
  Object.assign(globalThis, {
    setTimeout: firesOnce(setTimeout),
    setImmediate: firesOnce(setImmediate),
    setInterval: firesAgain(setInterval),
    clearTimeout: ends(clearTimeout),
    clearImmediate: ends(clearImmediate),
    clearInterval: ends(clearInterval),
  })
  return () => live.size
}
