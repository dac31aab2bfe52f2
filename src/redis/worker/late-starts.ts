import { MILLISECOND } from '../../core/duration.ts'
import { ShaperClosedError } from '../../core/errors.ts'
import { StartedLateError } from '../../core/handler-errors.ts'
import { idOfName } from '../scripts/job-id.ts'
import type { StartWindow } from '../slots/start-window.ts'
import type { Delivery } from '../transport/transport.ts'

const MOST_REMEMBERED = 1_000

/**
 * Finds starts that were too late for their slots although the last look was in time: the process stood still between the look
 * and the handler's first statement. Only time in which the process did not run counts, since a handler may compute for long.
 * A handler may also block its process by itself, which looks the same from outside; so no job is found late twice.
 */
export class LateStarts {
  readonly #known = new Set<string>()

  /**
   * Why the handler should not go on; undefined: it may.
   *
   * @param stoodStill for how long the process did not run since the last look; microseconds
   */
  find({ id }: Delivery, window: StartWindow, stoodStill: number): StartedLateError | undefined {
    const overdue = window.overdue(window.lookedAt + stoodStill)
    if (overdue <= 0 || this.#known.has(id)) return undefined
    if (this.#known.size === MOST_REMEMBERED) this.#known.clear()
    this.#known.add(id)
    return new StartedLateError(idOfName(id), overdue / MILLISECOND)
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

/** Whether it is what Node's own functions and HTTP clients throw in place of the reason of an aborted signal. */
function isAbort(error: Error, reason: Error): boolean {
  try {
    return error.cause === reason || error.name === 'AbortError' || error.name === 'CanceledError'
  } catch {
    // An error whose properties cannot be read was not made by an abort of ours.
    return false
  }
}
