import { monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { type PlannedJob, playBursts, waitUntil } from './bursts.ts'

/** How producers offer jobs, and what they make of the answers. */
export interface Offers {
  /** How often the last job of a key comes back at most: a start that is late moves the slots of those behind it. */
  readonly comeBacks: number
  /** Undefined when the job was accepted; else when to come back, in milliseconds. */
  offer(key: string): Promise<number | undefined>
  /** The last job of a key had been turned away, came back when it was told to, and was accepted. */
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
    offers.onError(`${key}: a job came back when it was told to, and was turned away again`)
  }
  const verdicts: Promise<void>[] = []
  await playBursts(plan, ({ account: { key }, isLast }) => void verdicts.push(offer(key, isLast)))
  await Promise.all(verdicts)
}
