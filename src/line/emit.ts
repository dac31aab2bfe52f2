import { MILLISECOND } from '../core/duration.ts'
import type { JobEvent, ShaperEvents } from '../core/events.ts'
import type { Admission } from '../core/job.ts'
import { type ChangedRules, differenceOf } from '../core/layered-book.ts'
import type { Costs } from '../core/usage.ts'
import type { Settled } from './attempt.ts'
import type { Emitter } from './emitter.ts'
import type { JobRequest, WorkerJob } from './job.ts'
import type { HandlerOutcome } from './outcome.ts'

/** The part that all events of a job share; `now` is in microseconds. */
export function jobEvent({ id, key, cost, attempt }: Omit<JobEvent, 'at'>, now: number): JobEvent {
  return { id, key, cost, attempt, at: now / MILLISECOND }
}

/** When a start that was admitted at `admittedAt` happened, as its event says; microseconds. */
export function departureTimes({ admittedAt }: Pick<WorkerJob, 'admittedAt'>, startedAt: number) {
  return { at: startedAt / MILLISECOND, waitedMs: (startedAt - admittedAt) / MILLISECOND }
}

/** A `departed` event; `startedAt` in microseconds. */
export function departedEvent(job: WorkerJob, startedAt: number): ShaperEvents['departed'][0] {
  const { costs, fence } = job
  const named = costs && { costs }
  return { ...jobEvent(job, startedAt), ...departureTimes(job, startedAt), fence, ...named }
}

/** Emits that the start of a job was settled; `now` is in microseconds. */
export function emitSettled<Result>(
  emitter: Emitter<Result>,
  job: Omit<JobEvent, 'at'> & Pick<WorkerJob, 'fence'>,
  amounts: Costs,
  now: number,
): void {
  emitter.emit('settled', { ...jobEvent(job, now), amounts, fence: job.fence })
}

/** Emits a verdict as `admitted` or `rejected`, unless it was given before. `now` is in microseconds. */
export function emitAdmission<Result>(
  emitter: Emitter<Result>,
  { id, cost, costs }: JobRequest,
  admission: Admission,
  now: number,
): void {
  const at = now / MILLISECOND
  const named = costs && { costs }
  if (!admission.accepted) {
    if (emitter.hears('rejected')) {
      const { at: total, ...refusal } = admission
      const known = { ...named, ...(id !== undefined && { id }), ...(total !== undefined && { total }) }
      emitter.emit('rejected', { ...refusal, cost, ...known, at })
    }
  } else if (!admission.replayed && emitter.hears('admitted')) {
    emitter.emit('admitted', { ...admission, cost, ...named, at })
  }
}

/** How an attempt ended; `readyAt` for a job that waits again: when it may depart, in microseconds. */
interface End {
  readonly kind: HandlerOutcome['kind']
  readonly readyAt?: number
  /** What the handler asked for, in milliseconds, where it froze its bucket for less. */
  readonly askedMs?: number | undefined
}

/** Emits how an attempt of a job ended; `now` is in microseconds. */
export function emitEnd<Result>(
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

/** Emits one `limit` event for each rule whose effect changed. */
export function emitRules<Result>(emitter: Emitter<Result>, changed: ChangedRules): void {
  if (!changed.isChanged || !emitter.hears('limit')) return
  const at = changed.at / MILLISECOND
  const { set, unset } = differenceOf(changed)
  for (const { pattern, limit } of set) emitter.emit('limit', { pattern, limit, at })
  for (const pattern of unset) emitter.emit('limit', { pattern, limit: undefined, at })
}
