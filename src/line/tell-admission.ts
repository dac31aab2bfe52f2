import { MILLISECOND } from '../core/duration.ts'
import type { Admission } from '../core/job.ts'
import type { JobRequest } from './backend.ts'
import type { Emitter } from './emitter.ts'

/** Tells listeners of a verdict, unless it was given before. `now` is in microseconds. */
export function tellAdmission<Result>(
  emitter: Emitter<Result>,
  { id, cost }: JobRequest,
  admission: Admission,
  now: number,
): void {
  const at = now / MILLISECOND
  if (!admission.accepted) {
    if (emitter.hears('rejected')) {
      emitter.emit('rejected', { ...admission, cost, at, ...(id !== undefined && { id }) })
    }
  } else if (!admission.replayed && emitter.hears('admitted')) {
    emitter.emit('admitted', { ...admission, cost, at })
  }
}
