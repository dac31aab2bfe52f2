import { MILLISECOND, SECOND } from '../../../src/core/duration.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import type { Account } from '../../../src/demo/account.ts'
import type { DemoResult } from '../../../src/demo/demo.ts'
import { RunLog } from '../../../src/demo/run-log.ts'
import { FLOOD, OTHER, SHARED_ACCOUNTS, TenantsLog } from '../../../src/demo/tenants.ts'

export const ACCOUNT: Account = { key: 'acme', limit: parseLimit('3, 5/s'), bursts: [[0, 6]] }

/** Six jobs together: without velvet-rope five are refused; with it four depart evenly, and two are rejected. */
export function madeUpRuns(): DemoResult {
  const without = new RunLog(false, [ACCOUNT], 0)
  const behind = new RunLog(true, [ACCOUNT], 10 * SECOND)
  for (const run of [without, behind]) {
    const log = run.of('acme')
    for (let job = 0; job < 6; job++) {
      const at = run.startedAt + job * MILLISECOND
      log.arrivals.push(at)
      if (!run.isShaped) log.calls.push({ key: 'acme', at, isRefused: job > 0 })
      else if (job >= 4) log.rejections.push({ at, retryAfterMs: 200 - job })
    }
  }
  for (let job = 0; job < 4; job++) {
    const at = behind.startedAt + job * behind.of('acme').account.limit.interval
    behind.of('acme').departures.push({ at, waitedMs: job * 199 })
    behind.of('acme').calls.push({ key: 'acme', at, isRefused: false })
  }
  without.end(0.5 * SECOND)
  behind.end(11 * SECOND)
  return { without, behind, breaches: [], tenants: [] }
}

/** Two jobs of one tenant and then one of another, with one line and shared; starts are 200 ms apart. */
export function madeUpTenants(): readonly TenantsLog[] {
  return SHARED_ACCOUNTS.map(({ key }, index) => {
    const log = new TenantsLog(key, 0)
    const [flood, other] = [
      { tenant: FLOOD.name, sentAt: 0 },
      { tenant: OTHER.name, sentAt: 0.1 * SECOND },
    ]
    const second = { ...flood }
    log.jobs.push(flood, second, other)
    const order = index === 0 ? [flood, second, other] : [flood, other, second]
    for (const [nth, job] of order.entries()) Object.assign(job, { startedAt: nth * 0.2 * SECOND })
    return log
  })
}
