import { MILLISECOND } from '../../core/duration.ts'
import { LeaseLostError } from '../../core/handler-errors.ts'
import type { Settled } from '../../line/attempt.ts'
import { emitEnd, jobEvent } from '../../line/emit.ts'
import type { Emitter } from '../../line/emitter.ts'
import { outcomeOf } from '../../line/outcome.ts'
import type { Leases } from '../slots/leases.ts'
import type { JobStart } from './job-start.ts'
import { isGoingBack } from './late-starts.ts'
import { reportPlaceEnd } from './place-end.ts'

/** That a process goes down, or stood still, is no fault of the job: it starts again, and no attempt is lost. */
const GIVEN_BACK = { kind: 'freeze', duration: 0, askedMs: undefined } as const

export interface JobEndPorts<Result> {
  readonly emitter: Emitter<Result>
  /** No handler freezes its bucket for longer. */
  readonly maxFreezeMs: number
  readonly leases: Pick<Leases, 'isHeld'>
}

/** Reports how the handler of a job has settled, and emits what the store made of it. */
export async function reportEnd<Data, Result>(
  start: JobStart<Data, Result>,
  settled: Settled<Result>,
  { emitter, maxFreezeMs, leases }: JobEndPorts<Result>,
): Promise<void> {
  if (start.holdsPlace) return reportPlaceEnd(start, settled, emitter)
  const { job, handed, reports, departedAt, late } = start
  if (!settled.ok && settled.error instanceof LeaseLostError && !leases.isHeld(handed)) {
    emitter.fail(settled.error)
    return
  }
  const isGivenBack = !settled.ok && isGoingBack(settled.error, late)
  const outcome = isGivenBack
    ? GIVEN_BACK
    : outcomeOf(settled, job, { mayRetry: true, maxFreezeMs }, Math.random, emitter)
  const answer = await reports.end(outcome)
  if (answer === undefined || !answer.isMine) {
    emitter.fail(new LeaseLostError(job.id))
    return
  }
  const { readyAt } = answer
  // This process estimates the time of the store and may be ahead of it: no end is before its start.
  const at = Math.max(answer.at, departedAt)
  if (isGivenBack) {
    emitter.emit('returned', { ...jobEvent(job, at), retryAt: at / MILLISECOND })
    return
  }
  emitEnd(emitter, job, settled, readyAt === undefined ? { kind: outcome.kind } : { ...outcome, readyAt }, at)
}
