import { monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { type PlannedJob, playBursts, waitUntil } from './bursts.ts'

/** How producers offer jobs and handle the verdicts. */
export interface Offers {
  /** How often the last job of a key retries at most: a late start moves the slots behind it. */
  readonly comeBacks: number
  /** Returns undefined if the job was accepted, otherwise the milliseconds until a retry. */
  offer(key: string): Promise<number | undefined>
  /** The last job of a key was rejected, retried at the given time, and was accepted. */
  onCameBack(key: string): void
  onError(message: string): void
}

/** Offers the jobs of the plan in real time; resolves when each has its last verdict. */
export async function playOffers(plan: readonly PlannedJob[], offers: Offers): Promise<void> {
  const offer = async (key: string, isLast: boolean): Promise<void> => {
    let retryAfterMs = await offers.offer(key)
    if (retryAfterMs === undefined || !isLast) return
    for (let time = 0; time < offers.comeBacks; time++) {
      await waitUntil(monotonicNow() + retryAfterMs * MILLISECOND)
      retryAfterMs = await offers.offer(key)
      if (retryAfterMs === undefined) return offers.onCameBack(key)
    }
    offers.onError(`${key}: a job retried at the given time and was rejected again`)
  }
  const verdicts: Promise<void>[] = []
  await playBursts(plan, ({ account: { key }, isLast }) => void verdicts.push(offer(key, isLast)))
  await Promise.all(verdicts)
}
