import type { z } from 'zod'
import { MILLISECOND } from '../../core/duration.ts'
import {
  type Accepted,
  type Admission,
  type BucketView,
  bucketState,
  type Durability,
  type JobView,
  retryAfterMs,
} from '../../core/job.ts'
import type { SharedAdmission } from '../protocol/shared-backend.ts'
import type { BucketReply, jobReply, verdictReply } from '../scripts/replies.ts'
import { decodeSettings } from '../scripts/settings-text.ts'

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

export function bucketView(reply: BucketReply, now: number, durability: Durability): BucketView {
  const [key, pattern, limit, capacity, units, jobs, retrying, running, next, frozen, paused] = reply
  const [lastStart, first, last] = [reply[11], reply[12], reply[13]]
  const lastUse = Math.max(lastStart, last)
  return {
    key,
    pattern,
    limit,
    state: bucketState(units, capacity, paused, frozen > now),
    waiting: units,
    capacity,
    fill: units / capacity,
    jobs,
    retrying,
    running,
    ...(Number.isFinite(next) && { nextDepartureAt: next / MILLISECOND }),
    oldestWaitMs: Math.max(0, now - first) / MILLISECOND,
    ...(Number.isFinite(first) && { waitingSince: first / MILLISECOND }),
    ...(frozen > now && { frozenUntil: frozen / MILLISECOND }),
    paused,
    ...(Number.isFinite(lastUse) && { lastUsedAt: lastUse / MILLISECOND }),
    durability,
  }
}

/** Undefined for a job that nobody knows. */
export function jobView(id: string, reply: z.output<typeof jobReply>): JobView | undefined {
  if (reply.length === 0) return undefined
  const [key, state, cost, settings, data, attempt, admittedAt, deadline, departedAt, endedAt, position] =
    reply
  const [hasResult, result, hasError, error] = [reply[11], reply[12], reply[13], reply[14]]
  return {
    id,
    key,
    state: state === 'granted' ? 'handed' : state,
    cost,
    data: JSON.parse(data),
    attempt,
    attempts: decodeSettings(settings).attempts,
    admittedAt: admittedAt / MILLISECOND,
    ...(position > 0 && { position }),
    ...(Number.isFinite(deadline) && { deadlineAt: deadline / MILLISECOND }),
    ...(departedAt >= 0 && { departedAt: departedAt / MILLISECOND }),
    ...(endedAt >= 0 && { endedAt: endedAt / MILLISECOND }),
    ...(hasResult && { result: JSON.parse(result) }),
    ...(hasError && { error }),
  }
}
