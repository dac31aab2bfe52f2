import { systemClock } from '../core/clock.ts'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import { seededRandom } from '../simulate/random.ts'
import type { Account } from './account.ts'

/** One job that a producer has for an account. */
export interface PlannedJob {
  readonly account: Account
  /** Microseconds from the beginning of the run. */
  readonly at: number
  /** The account's last: nobody comes after it, so what it is promised must come true. */
  readonly isLast: boolean
}

/** The bursts of an account are played again after this long. */
export const CYCLE = 2.5 * SECOND
/** Jobs of one burst follow each other by less than this part of an interval. */
const CLOSE = 0.25
const SEED = 1986

/** Every job of every producer, in the order of time; the same each time it is asked. */
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
