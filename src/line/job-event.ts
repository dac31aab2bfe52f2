import { MILLISECOND } from '../core/duration.ts'
import type { JobEvent } from '../core/events.ts'

/** What events tell of a job; `now` is in microseconds. */
export function jobEvent({ id, key, cost, attempt }: Omit<JobEvent, 'at'>, now: number): JobEvent {
  return { id, key, cost, attempt, at: now / MILLISECOND }
}
