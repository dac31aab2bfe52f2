import type { z } from 'zod'
import { MILLISECOND } from '../../core/duration.ts'
import { type Accepted, type Admission, retryAfterMs } from '../../core/job.ts'
import type { SharedAdmission } from '../protocol/shared-backend.ts'
import type { verdictReply } from '../scripts/replies.ts'

type Verdict = z.output<typeof verdictReply>

export function admissionOf(id: string, key: string, verdict: Verdict, now: number): SharedAdmission {
  if (verdict[0] !== 'yes' && verdict[0] !== 'again') {
    const [reason, retryAt, waiting, capacity] = verdict
    return { admission: refusal(key, reason, retryAt, waiting, capacity, now), at: now }
  }
  const [, departsAt, waiting, capacity, position] = verdict
  const at = verdict[0] === 'again' ? verdict[5] : now
  const accepted = acceptance({ id, key, position, departsAt, waiting, capacity }, at)
  return { admission: verdict[0] === 'again' ? { ...accepted, replayed: true } : accepted, at }
}

/** `departsAt` and `now` are microseconds. */
export function acceptance(place: Omit<Accepted, 'accepted' | 'waitMs' | 'replayed'>, now: number): Accepted {
  const { id, key, position, departsAt, waiting, capacity } = place
  const waitMs = (departsAt - now) / MILLISECOND
  return { accepted: true, id, key, position, departsAt: departsAt / MILLISECOND, waitMs, waiting, capacity }
}

export function refusal(
  key: string,
  reason: Extract<Admission, { accepted: false }>['reason'],
  retryAt: number,
  waiting: number,
  capacity: number,
  now: number,
) {
  return {
    accepted: false,
    reason,
    key,
    retryAfterMs: retryAfterMs(retryAt - now),
    waiting,
    capacity,
  } as const
}
