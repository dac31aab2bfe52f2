import { BackendUnavailableError } from '../../core/errors.ts'

/** Callers are answered within two seconds; a little of that is left for the way back. */
const PATIENCE_MS = 1_900

/**
 * Resolves as `work` does, or rejects with BackendUnavailableError when it takes too long; `isOver` tells what still goes
 * on then that its caller has been answered.
 *
 * @param lastError what it failed with before it tried again
 */
export async function patiently<Answer>(
  work: (isOver: () => boolean) => Promise<Answer>,
  lastError: () => unknown = () => undefined,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isOver = true
      reject(lastError() ?? new BackendUnavailableError('Redis is unavailable: no answer in time'))
    }, PATIENCE_MS)
  })
  try {
    return await Promise.race([work(() => isOver), over])
  } finally {
    clearTimeout(timer)
    isOver = true
  }
}
