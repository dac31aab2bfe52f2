import type { Breach } from '../conformance/history.ts'
import { systemClock } from '../core/clock.ts'
import type { Account } from './account.ts'
import { ApiClient } from './api-client.ts'
import { runBehindRope } from './behind-rope.ts'
import { planBursts, waitUntil } from './bursts.ts'
import { RunLog } from './run-log.ts'
import { SharedRope } from './shared/shared-rope.ts'
import { StrictApi } from './strict-api.ts'
import { runWithoutRope } from './without-rope.ts'

export interface DemoOptions {
  readonly accounts: readonly Account[]
  /** How often the bursts are played. */
  readonly cycles: number
  /** The part of its interval by which the API lets an account's calls be too close. */
  readonly slack: number
  /** A Redis URL: the line is there, and producers and workers are processes of their own. Absent: all in this one. */
  readonly redis?: string
}

/** Watches the demo while it runs. */
export interface DemoView {
  /** A run begins; `isQuiet` tells when watching disturbs no call. */
  begin(log: RunLog, isQuiet: () => boolean): void
  /** Nothing more will happen. */
  end(): void
}

export interface DemoResult {
  readonly without: RunLog
  readonly behind: RunLog
  /** Every breach of a law behind the rope. */
  readonly breaches: readonly Breach[]
}

/**
 * The same bursts twice at the same strict API: straight, then behind the rope.
 *
 * @throws BackendUnavailableError when `redis` does not answer
 */
export async function runDemo(options: DemoOptions, view: DemoView): Promise<DemoResult> {
  const { accounts, cycles, slack, redis } = options
  const plan = planBursts(accounts, cycles)
  let log: RunLog | undefined
  const api = await StrictApi.listen({
    accounts,
    slack,
    onCall: (call) => void log?.of(call.key).calls.push(call),
  })
  const client = new ApiClient(api.port)
  const begin = (hasRope: boolean): RunLog => {
    log = new RunLog(hasRope, accounts)
    view.begin(log, () => client.underWay === 0)
    return log
  }
  let shared: SharedRope | undefined
  try {
    if (redis !== undefined) shared = await SharedRope.open({ redis, accounts, cycles, port: api.port })
    await client.warmUp()
    const without = begin(false)
    await runWithoutRope(plan, client, without)
    without.end()
    // Until the last call without the rope is too long ago to matter.
    const longest = Math.max(...accounts.map(({ limit }) => limit.interval))
    await waitUntil(systemClock.now() + longest * (1 - slack))
    const behind = begin(true)
    const breaches = await (shared?.run(behind) ?? runBehindRope(plan, client, behind))
    behind.end()
    return { without, behind, breaches }
  } finally {
    view.end()
    client.close()
    await shared?.close()
    await api.close()
  }
}
