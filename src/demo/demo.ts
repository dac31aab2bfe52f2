import type { Breach } from '../conformance/history.ts'
import { systemClock } from '../core/clock.ts'
import type { Account } from './account.ts'
import { ApiClient } from './api-client.ts'
import { planBursts, waitUntil } from './bursts.ts'
import { RunLog } from './run-log.ts'
import { runShaped } from './shaped-run.ts'
import { RedisRun } from './shared/redis-run.ts'
import { StrictApi } from './strict-api.ts'
import { openTenants, runTenants, SHARED_ACCOUNTS, type TenantsLog } from './tenants.ts'
import { runUnshaped } from './unshaped-run.ts'

export interface DemoOptions {
  readonly accounts: readonly Account[]
  /** Number of times that the bursts are played. */
  readonly cycles: number
  /** The share of an interval by which calls of an account may be too close for the API. */
  readonly slack: number
  /**
   * A Redis URL: the lines are in Redis, and producers and workers are separate processes. Absent: all in this process.
   */
  readonly redis?: string
}

/** Watches the demo while it runs. */
export interface DemoView {
  /** A run begins; `isQuiet` says when drawing disturbs no call. */
  begin(log: RunLog, isQuiet: () => boolean): void
  /** The same tenants begin to share two accounts, each in its way. */
  beginTenants(logs: readonly TenantsLog[], isQuiet: () => boolean): void
  /** The demo is over. */
  end(): void
}

export interface DemoResult {
  readonly without: RunLog
  readonly behind: RunLog
  /** Breaches of the laws in the run with velvet-rope. */
  readonly breaches: readonly Breach[]
  /** Two tenants behind one account: with one line for both, and shared. None on Redis. */
  readonly tenants: readonly TenantsLog[]
}

/**
 * Plays the same bursts twice against the same strict API: without velvet-rope, then with it. In one process, two tenants share an
 * account there afterwards.
 *
 * @throws BackendUnavailableError if `redis` does not reply
 */
export async function runDemo(options: DemoOptions, view: DemoView): Promise<DemoResult> {
  const { accounts, cycles, slack, redis } = options
  const plan = planBursts(accounts, cycles)
  let log: RunLog | undefined
  let tenants: readonly TenantsLog[] = []
  const api = await StrictApi.listen({
    accounts: [...accounts, ...SHARED_ACCOUNTS],
    slack,
    onCall: (call) => {
      const calls = tenants.find(({ key }) => key === call.key)?.calls ?? log?.of(call.key).calls
      calls?.push(call)
    },
  })
  const client = new ApiClient(api.port)
  const begin = (isShaped: boolean): RunLog => {
    log = new RunLog(isShaped, accounts)
    view.begin(log, () => client.underWay === 0)
    return log
  }
  let shared: RedisRun | undefined
  try {
    if (redis !== undefined) shared = await RedisRun.open({ redis, accounts, cycles, port: api.port })
    await client.warmUp()
    const without = begin(false)
    await runUnshaped(plan, client, without)
    without.end()
    // Until the last call of the first run no longer matters to the API.
    const longest = Math.max(...accounts.map(({ limit }) => limit.interval))
    await waitUntil(systemClock.now() + longest * (1 - slack))
    const behind = begin(true)
    const breaches = await (shared?.run(behind) ?? runShaped(plan, client, behind))
    behind.end()
    if (redis === undefined) {
      tenants = openTenants()
      view.beginTenants(tenants, () => client.underWay === 0)
      await runTenants(tenants, client)
    }
    return { without, behind, breaches, tenants }
  } finally {
    view.end()
    client.close()
    await shared?.close()
    await api.close()
  }
}
