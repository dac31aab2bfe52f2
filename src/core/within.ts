/** At most this much of a timeout elapses per turn of the event loop, however long the turn was. */
const TURN_MS = 100

/**
 * Calls `onOver` after `ms` milliseconds in which this process could have processed a reply. While its event loop is
 * blocked, by its own computing or by other processes, the time does not count; and at the end, input that is ready is
 * processed first, since timers come before input and output in a turn of the event loop. Returns a function that
 * cancels it.
 */
export function countDown(ms: number, onOver: () => void): () => void {
  let left = ms
  let timer: NodeJS.Timeout | undefined
  let last: NodeJS.Immediate | undefined
  const next = () => {
    const turn = Math.min(left, TURN_MS)
    left -= turn
    timer = setTimeout(left > 0 ? next : end, turn)
  }
  const end = () => {
    last = setImmediate(onOver)
  }
  next()
  return () => {
    clearTimeout(timer)
    clearImmediate(last)
  }
}

/**
 * Resolves to whether `work` settles within `ms` milliseconds, counted as in `countDown`. If not, it is no longer
 * waited for.
 */
export function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = countDown(ms, () => resolve(false))
    const settled = () => {
      stop()
      resolve(true)
    }
    work.then(settled, settled)
  })
}

/**
 * Settles as `work` does, or rejects with the result of `lateError` after `ms` milliseconds, counted as in
 * `settlesWithin`.
 */
export async function within<Answer>(
  ms: number,
  work: Promise<Answer>,
  lateError: () => unknown,
): Promise<Answer> {
  if (await settlesWithin(ms, work)) return work
  throw lateError()
}
