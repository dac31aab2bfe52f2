import { BackendUnavailableError } from '../../core/errors.ts'
import { within } from '../../core/within.ts'

/** Callers are answered within two seconds; a little of that is left for the way back. */
const PATIENCE_MS = 1_900
/** The longest wait for one command; after that its socket counts as half open. */
const COMMAND_WITHIN_MS = 1_500

/**
 * Settles as `work` does, or rejects with BackendUnavailableError after 1.9 s; with `isOver`, work that still goes on then can
 * see that its caller has been answered.
 *
 * @param lastError what it failed with before it tried again
 */
export async function patiently<Answer>(
  work: (isOver: () => boolean) => Promise<Answer>,
  lastError: () => unknown = () => undefined,
): Promise<Answer> {
  let isOver = false
  try {
    return await within(
      PATIENCE_MS,
      work(() => isOver),
      () => lastError() ?? noAnswer(),
    )
  } finally {
    isOver = true
  }
}

/** Waits at most 1.5 s for a command. @throws BackendUnavailableError, and what the command throws */
export function commandWithin<Answer>(command: Promise<Answer>): Promise<Answer> {
  return within(COMMAND_WITHIN_MS, command, noAnswer)
}

export function noAnswer(): BackendUnavailableError {
  return new BackendUnavailableError('Redis is unavailable: no answer in time')
}
