import type { FullMemory } from '../connection/full-memory.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import type { Store } from '../scripts/store.ts'
import { admissions } from './admissions.ts'
import { admitVerb } from './admit.ts'
import { cancelVerb, leaveVerb } from './cancel.ts'
import { claimVerb } from './claim.ts'
import { expireVerb } from './expire.ts'
import { fetchVerb } from './fetch.ts'
import { finishVerb } from './finish.ts'
import { followVerb } from './follow.ts'
import { forecastVerb } from './forecast.ts'
import { gateVerb } from './gate.ts'
import { handedVerb } from './handed.ts'
import { holdVerbs } from './hold.ts'
import { quarantineVerb } from './quarantine.ts'
import { recoverVerb } from './recover.ts'
import { renewVerb } from './renew.ts'
import { resignVerb } from './resign.ts'
import { settleRunningVerb, settleVerb } from './settle.ts'
import { startVerb } from './start.ts'
import { Sweeps } from './sweeps.ts'

export interface VerbsContext {
  readonly store: Store
  readonly rules: RedisRules
  readonly memory: FullMemory
  /** How many ended jobs are remembered, as `keepText` writes it. */
  readonly keep: string
}

/**
 * What producers, schedulers and workers do on a line that many processes share. Each verb is atomic, and its file beside its
 * script says which transition it performs. Redis has the one clock; tests alone pass `now`. Times and durations are
 * microseconds; a duration counts from the moment at which Redis runs the verb.
 *
 * Lines stand in shards; all jobs of one key stand in one. Verbs of schedulers and workers name the shard.
 *
 * @throws BackendUnavailableError from every verb when Redis does not answer; whether it ran is then unknown, and the same
 * call again does no harm
 */
export function openVerbs({ store, rules, memory, keep }: VerbsContext) {
  const sweeps = new Sweeps(store, keep)
  return {
    ...admissions(store, admitVerb(store, rules, memory)),
    forecast: forecastVerb(store, rules),
    cancel: cancelVerb(store, keep),
    leave: leaveVerb(store, keep),
    ...holdVerbs(store, rules, memory),

    claim: claimVerb(store, rules, rules.buckets, sweeps, keep),
    expire: expireVerb(sweeps),
    recover: recoverVerb(sweeps),
    resign: resignVerb(store),

    fetch: fetchVerb(store),
    gate: gateVerb(store, rules, rules.buckets, keep),
    follow: followVerb(store, rules, rules.buckets),
    start: startVerb(store),
    finish: finishVerb(store, keep),
    renew: renewVerb(store),
    settle: settleVerb(store),
    settleRunning: settleRunningVerb(store),
    areHanded: handedVerb(store),

    quarantine: quarantineVerb(store),
  }
}

export type Verbs = ReturnType<typeof openVerbs>
