import { toError } from '../core/thrown.ts'

/** A request exceeded its time limit. */
export class DeadlineError extends Error {}

/**
 * Settles as `run` does, but at the latest after `ms` milliseconds or when `outer` aborts. A connection that is being
 * opened ignores its signal, so it is not waited for.
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
  const timer = setTimeout(() => stop(new DeadlineError(`no response within ${ms} ms`)), ms)
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
