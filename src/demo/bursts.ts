import { systemClock } from '../core/clock.ts'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import { seededRandom } from '../simulate/random.ts'
import type { Account } from './account.ts'

/** A job of a producer for an account. */
export interface PlannedJob {
  readonly account: Account
  /** Microseconds from the beginning of the run. */
  readonly at: number
  /** The account's last job: none follows, so its promised time must be kept. */
  readonly isLast: boolean
}

/** The period after which an account repeats its bursts. */
export const CYCLE = 2.5 * SECOND
/** The distance of jobs within a burst is below this share of an interval. */
const CLOSE = 0.25
const SEED = 1986

/** Returns all jobs of all producers by time; the same on each call. */
export function planBursts(accounts: readonly Account[], cycles: number): PlannedJob[] {
  const random = seededRandom(SEED)
  return accounts
    .flatMap((account) => {
      const times = Array.from({ length: cycles }, (_, cycle) =>
        account.bursts.flatMap(([atMs, jobs]) => {
          let at = cycle * CYCLE + atMs * MILLISECOND
          return Array.from({ length: jobs }, () => (at += random() * CLOSE * account.limit.interval))
        }),
      ).flat()
      return times.map((at, index) => ({ account, at, isLast: index === times.length - 1 }))
    })
    .sort((a, b) => a.at - b.at)
}

/** Plays the plan in real time; resolves when the last job was sent. */
export async function playBursts(
  plan: readonly PlannedJob[],
  send: (job: PlannedJob) => void,
): Promise<void> {
  const start = systemClock.now()
  for (const job of plan) {
    await waitUntil(start + job.at)
    send(job)
  }
}

export function waitUntil(at: number): Promise<void> {
  return new Promise((resolve) => void systemClock.wake(at, resolve, 1_000))
}
