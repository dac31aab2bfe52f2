import { monotonicNow } from '../core/clock.ts'
import type { ApiClient } from './api-client.ts'
import { type PlannedJob, playBursts } from './bursts.ts'
import type { RunLog } from './run-log.ts'

/** Runs the plan without velvet-rope: every job calls the API on arrival. Resolves when all calls have a response. */
export async function runUnshaped(
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
