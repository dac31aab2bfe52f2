import { LeaseLostError } from '../../core/handler-errors.ts'
import type { Settled } from '../../line/attempt.ts'
import { jobEvent } from '../../line/emit.ts'
import type { Emitter } from '../../line/emitter.ts'
import type { JobStart } from './job-start.ts'

/** How a turn that held a place of its limit gives it back: what its handler resolves with. */
export interface PlaceEnd {
  /** It was not released in time. */
  readonly isExpired: boolean
  /** Called with whether the place was held until then, as the store says. */
  readonly onAnswer: (wasHeld: boolean) => void
}

/** Reports that a turn gives its place back, and emits it, unless the place was lost before. */
export async function reportPlaceEnd<Data, Result>(
  { job, reports, departedAt }: JobStart<Data, Result>,
  settled: Settled<Result>,
  emitter: Emitter<Result>,
): Promise<void> {
  const end = settled.ok ? (settled.value as PlaceEnd) : undefined
  const answer = await reports.end({ kind: 'completed', result: undefined })
  const wasHeld = answer?.isMine === true
  end?.onAnswer(wasHeld)
  if (wasHeld) {
    const event = jobEvent(job, Math.max(answer.at, departedAt))
    emitter.emit(end?.isExpired ? 'holdExpired' : 'released', event)
  } else emitter.fail(new LeaseLostError(job.id, true))
}
