import { checkHistory } from '../conformance/conformance.ts'
import type { Breach } from '../conformance/history.ts'
import { monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { formatLimit } from '../core/limit-format.ts'
import { Shaper } from '../shaper/shaper.ts'
import { recordHistory } from '../testing/record-history.ts'
import { callApi, RefusedError } from './api-call.ts'
import type { ApiClient } from './api-client.ts'
import type { PlannedJob } from './bursts.ts'
import { playOffers } from './offers.ts'
import type { RunLog } from './run-log.ts'

export const LONGEST_DRAIN_MS = 60_000
/** A busy machine starts handlers late, which breaks no law; half the rate would. */
export const LEAST_UTILISATION = 0.9

/**
 * Runs the plan with velvet-rope: every job waits in its line, and handlers call the API. Resolves when all lines are
 * empty.
 */
export async function runShaped(
  plan: readonly PlannedJob[],
  client: ApiClient,
  log: RunLog,
): Promise<Breach[]> {
  const limits = log.accounts.map(({ account }) => [account.key, formatLimit(account.limit)] as const)
  const shaper = new Shaper('demo', { limits: Object.fromEntries(limits) })
  const recording = recordHistory(shaper)
  shaper
    .on('departed', ({ key, at, waitedMs }) => {
      log.of(key).departures.push({ at: at * MILLISECOND, waitedMs })
    })
    .on('failed', ({ error }) => {
      if (!(error instanceof RefusedError)) log.errors.push(error.message)
    })
    .work((job) => callApi(client, job.key))

  const offer = async (key: string): Promise<number | undefined> => {
    const account = log.of(key)
    const at = monotonicNow()
    const admission = await shaper.enqueue(key, { text: 'hello' })
    account.arrivals.push(at)
    if (admission.accepted) return undefined
    account.rejections.push({ at, retryAfterMs: admission.retryAfterMs })
    return admission.retryAfterMs
  }
  await playOffers(plan, {
    comeBacks: 1,
    offer,
    onCameBack: (key) => void log.of(key).cameBack++,
    onError: (message) => void log.errors.push(message),
  })
  await shaper.close({ drainMs: LONGEST_DRAIN_MS })
  await recording.audit()
  return checkHistory(recording.history, { minUtilisation: LEAST_UTILISATION })
}
