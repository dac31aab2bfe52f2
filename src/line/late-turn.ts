import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { type Admission, type Rejected, retryAfterMs } from '../core/job.ts'
import type { Awaitable } from './awaitable.ts'
import type { JobRequest } from './backend.ts'

/**
 * Whoever wanted a turn at once, and was promised it, is refused if it did not come.
 *
 * @throws `error`, when it says something else
 */
export async function refusalOfLateTurn(
  { key, cost }: JobRequest,
  error: unknown,
  forecast: (key: string, cost: number) => Awaitable<Admission>,
): Promise<Rejected> {
  if (!isVelvetRopeError(error, 'turn-timeout')) throw error
  const now = await forecast(key, cost)
  if (!now.accepted) return now
  const { waitMs, waiting, capacity } = now
  const wait = retryAfterMs(waitMs * MILLISECOND)
  return { accepted: false, reason: 'deadline', key, retryAfterMs: wait, waiting: waiting - cost, capacity }
}
