import { monotonicNow } from '../core/clock.ts'
import { type Breach, checkHistory } from '../core/conformance.ts'
import { MILLISECOND } from '../core/duration.ts'
import { Shaper } from '../shaper/shaper.ts'
import { recordHistory } from '../testing/record-history.ts'
import type { ApiClient } from './api-client.ts'
import { type PlannedJob, playBursts, waitUntil } from './bursts.ts'
import type { RunLog } from './run-log.ts'

const LONGEST_DRAIN_MS = 600_000
/** A machine that is busy with other things starts handlers late, which is no fault; half the rate would be one. */
const LEAST_UTILISATION = 0.9

/** Every job lines up behind the rope; handlers call the API. Resolves when the lines are drained. */
export async function runBehindRope(
  plan: readonly PlannedJob[],
  client: ApiClient,
  log: RunLog,
): Promise<Breach[]> {
  const limits = Object.fromEntries(log.accounts.map(({ account }) => [account.key, account.limit]))
  const shaper = new Shaper('demo', { limits: toInput(limits) })
  return []
}
