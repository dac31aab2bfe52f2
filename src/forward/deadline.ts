import { toError } from '../core/thrown.ts'

/** The time of a request was over. */
export class DeadlineError extends Error {}

/**
 * Runs until it settles, `ms` are over or `outer` aborts, whichever is first. A connection that is being opened does
 * not listen to its signal: nobody waits for it.
 */
export async function withinDeadline<Value>(
  ms: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  let stop: (error: Error) => void = () => undefined
  const stopped = new Promise<never>((_, reject) => {
    stop = (error) => {
      controller.abort(error)
      reject(error)
    }
  })
  const timer = setTimeout(() => stop(new DeadlineError(`no answer within ${ms} ms`)), ms)
  const onAbort = () => stop(toError(outer.reason))
  if (outer.aborted) onAbort()
  else outer.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([stopped, run(controller.signal)])
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', onAbort)
  }
}
