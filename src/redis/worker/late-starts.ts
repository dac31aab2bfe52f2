import { MILLISECOND } from '../../core/duration.ts'
import { ShaperClosedError } from '../../core/errors.ts'
import { StartedLateError } from '../../core/handler-errors.ts'
import type { StartWindow } from '../slots/start-window.ts'
import type { Delivery } from '../transport/transport.ts'

const MOST_REMEMBERED = 1_000

/**
 * Finds starts that were too late for their slots, though the last look was not: the process stood still between that
 * and the handler's first statement. Only time in which the process did not run counts, since a handler may compute for
 * long. It may also block its process by itself, which looks the same from outside; so no job is called late twice.
 */
export class LateStarts {
  readonly #known = new Set<string>()

  /**
   * Why the handler should not go on; undefined: it may.
   *
   * @param stoodStill since the last look; microseconds
   */
  find({ id }: Delivery, window: StartWindow, stoodStill: number): StartedLateError | undefined {
    const overdue = window.overdue(window.lookedAt + stoodStill)
    if (overdue <= 0 || this.#known.has(id)) return undefined
    if (this.#known.size === MOST_REMEMBERED) this.#known.clear()
    this.#known.add(id)
    return new StartedLateError(id, overdue / MILLISECOND)
  }
}

/**
 * Whether a job goes back with its attempt: its handler was cut off, or failed because the start was too late.
 *
 * @param late why its signal was aborted, if it was too late
 */
export function isGoingBack(error: Error, late: StartedLateError | undefined): boolean {
  if (error instanceof ShaperClosedError || error instanceof StartedLateError) return true
  return late !== undefined && isAbort(error, late)
}

/** What Node's own functions and HTTP clients throw in place of the reason of an aborted signal. */
function isAbort(error: Error, reason: Error): boolean {
  try {
    return error.cause === reason || error.name === 'AbortError' || error.name === 'CanceledError'
  } catch {
    // What cannot be looked at is none of ours.
    return false
  }
}
