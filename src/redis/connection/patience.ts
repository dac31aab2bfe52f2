import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { BackendUnavailableError } from '../../core/errors.ts'
import { within } from '../../core/within.ts'

/** Callers are answered within two seconds; a little of that is left for the way back. */
const PATIENCE_MS = 1_900
/** What is left at least to a request that has waited here, so that a Redis that is there can answer it. */
const LEAST_PATIENCE_MS = 300
/** The longest wait for one command; after that its socket counts as half open. */
const COMMAND_WITHIN_MS = 1_500

/** How much of its 1.9 s is left to a request of that time, by the local clock in microseconds; 0.3 s at the least. Milliseconds. */
export function patienceLeft(askedAt: number): number {
  return Math.max(LEAST_PATIENCE_MS, PATIENCE_MS - (monotonicNow() - askedAt) / MILLISECOND)
}

/**
 * Settles as `work` does, or rejects with BackendUnavailableError after 1.9 s, or after `patience`; with `isOver`, work that still goes on then can
 * see that its caller has been answered.
 *
 * @param lastError what it failed with before it tried again
 * @param patience milliseconds
 */
export async function patiently<Answer>(
  work: (isOver: () => boolean) => Promise<Answer>,
  lastError: () => unknown = () => undefined,
  patience = PATIENCE_MS,
): Promise<Answer> {
  let isOver = false
  try {
    return await within(
      patience,
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
