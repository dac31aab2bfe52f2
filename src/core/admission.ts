import { MILLISECOND } from './duration.ts'
import { type Accepted, type Rejected, retryAfterMs } from './job.ts'
import type { RejectReason } from './verdict.ts'

/** A place in a line, as the store of the line counts it; `departsAt` is in microseconds, `waiting` in cost units, those of this job included. */
interface CountedPlace {
  readonly position: number
  readonly departsAt: number
  readonly waiting: number
  readonly capacity: number
  readonly isEstimate?: true | undefined
}

/** `retryAt` is in microseconds, `waiting` in cost units. */
interface CountedRefusal {
  readonly retryAt: number
  readonly waiting: number
  readonly capacity: number
  readonly isEstimate?: true | undefined
  /** The quota that the job alone exceeds, as text. */
  readonly quota?: string
  /** The total that refuses it. */
  readonly at?: string | undefined
}

/** The answer to an accepted request, at `now` in microseconds. */
export function accepted(id: string, key: string, place: CountedPlace, now: number): Accepted {
  const { position, departsAt, waiting, capacity, isEstimate } = place
  const waitMs = (departsAt - now) / MILLISECOND
  const at = departsAt / MILLISECOND
  // Spreading costs a tenth of an admission.
  return isEstimate
    ? { accepted: true, id, key, position, departsAt: at, waitMs, waiting, capacity, isEstimate }
    : { accepted: true, id, key, position, departsAt: at, waitMs, waiting, capacity }
}

/** The answer to a rejected request, at `now` in microseconds. */
export function rejected(key: string, reason: RejectReason, refusal: CountedRefusal, now: number): Rejected {
  const { retryAt, waiting, capacity, isEstimate, quota, at } = refusal
  const known = { reason, key, retryAfterMs: retryAfterMs(retryAt - now), waiting, capacity }
  return {
    accepted: false,
    ...known,
    ...(isEstimate && { isEstimate }),
    ...(quota !== undefined && { quota }),
    ...(at !== undefined && { at }),
  }
}
