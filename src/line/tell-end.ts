import { MILLISECOND } from '../core/duration.ts'
import type { JobEvent } from '../core/events.ts'
import type { Settled } from './attempt.ts'
import type { Emitter } from './emitter.ts'
import { jobEvent } from './job-event.ts'
import type { HandlerOutcome } from './outcome.ts'

/** How an attempt ended; `readyAt` for a job that waits again: when it may depart. */
interface End {
  readonly kind: HandlerOutcome['kind']
  readonly readyAt?: number
  /** What the handler asked for, in milliseconds, where it froze its bucket for less. */
  readonly askedMs?: number | undefined
}

/** Tells listeners how an attempt of a job ended. Times are microseconds. */
export function tellEnd<Result>(
  emitter: Emitter<Result>,
  job: Omit<JobEvent, 'at'>,
  settled: Settled<Result>,
  { kind, readyAt, askedMs }: End,
  now: number,
): void {
  if (settled.ok) {
    if (!emitter.hears('completed')) return
    emitter.emit('completed', { ...jobEvent(job, now), result: settled.value })
    return
  }
  const event = jobEvent(job, now)
  if (readyAt === undefined) {
    emitter.emit('failed', { ...event, error: settled.error })
    return
  }
  const retryAt = readyAt / MILLISECOND
  if (kind === 'freeze') {
    emitter.emit('frozen', {
      key: job.key,
      at: event.at,
      until: retryAt,
      ...(askedMs !== undefined && { askedMs }),
    })
    emitter.emit('returned', { ...event, retryAt })
  } else {
    emitter.emit('failed', { ...event, error: settled.error, retryAt })
  }
}
