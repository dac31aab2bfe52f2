/** A turn of the event loop counts for so much of a patience, however long it was. */
const TURN_MS = 100

/**
 * Calls back when `ms` milliseconds have passed in which this process could have taken up an answer. Where its event loop is
 * held up, by its own computing or by other processes, time does not pass for it; and what lies ready at the end is taken up
 * first, since timers come before input and output in a turn of the event loop. Returns a function that cancels it.
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

/** Whether `work` has settled within `ms` milliseconds, as `countDown` counts them; if not, nothing waits for it any more. */
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

/** Settles as `work` does, or rejects with what `lateError` gives when it takes longer than `settlesWithin` allows. */
export async function within<Answer>(
  ms: number,
  work: Promise<Answer>,
  lateError: () => unknown,
): Promise<Answer> {
  if (await settlesWithin(ms, work)) return work
  throw lateError()
}
