import { monotonicNow } from '../core/clock.ts'
import type { ApiClient } from './api-client.ts'
import { type PlannedJob, playBursts } from './bursts.ts'
import type { RunLog } from './run-log.ts'

/** Every job calls the API the moment it comes. Resolves when all calls were answered. */
export async function runWithoutRope(
  plan: readonly PlannedJob[],
  client: ApiClient,
  log: RunLog,
): Promise<void> {
  const calls: Promise<number>[] = []
  await playBursts(plan, ({ account }) => {
    log.of(account.key).arrivals.push(monotonicNow())
    calls.push(client.call(account.key))
  })
  await Promise.all(calls)
}
