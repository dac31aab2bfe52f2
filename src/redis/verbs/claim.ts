import type { RedisRules } from '../rules/redis-rules.ts'
import type { RuledBuckets } from '../rules/ruled-buckets.ts'
import { list, number, oneOf, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { HandedJob } from './handed-job.ts'
import type { Sweeps } from './sweeps.ts'

const reply = list(
  oneOf({
    follow: { now: number, leaderUntil: number },
    ok: {
      now: number,
      nextDue: number,
      nextRecovery: number,
      nextExpiry: number,
      nextIdle: number,
      book: number,
      retimed: number,
      jobs: rest(row({ id: text, epoch: number, key: text })),
    },
  }),
)
const script = defineScript('claim', import.meta.url, reply)

/** Buckets to forget wait for each other: they do no harm meanwhile. */
const LATENESS_OF_CHORES = 500_000

export interface ClaimRequest {
  /** Names the scheduler that asks. */
  readonly scheduler: string
  /** How long before its slot a job is handed over. */
  readonly lookAhead: number
  /** The most jobs to take, from 1 on; at most MOST_PER_CLAIM, and fewer where turns are handed over as well. */
  readonly most: number
  /** For how long a job that was handed over belongs to its worker alone. */
  readonly lease: number
}

export interface Claim {
  /** False: another scheduler is elected, until `leaderUntil`; nothing was claimed. */
  readonly isElected: boolean
  readonly leaderUntil: number
  readonly jobs: readonly (HandedJob & { readonly key: string })[]
  readonly now: number
  /**
   * When `claim` has something to hand over next, and to forget, and when `recover` and `expire` have something to do; Infinity when
   * nothing is known.
   */
  readonly nextClaim: number
  readonly nextForgetting: number
  readonly nextRecovery: number
  readonly nextExpiry: number
}

/** waiting | retrying -> handed, for the heads that are due within the look-ahead; elects the scheduler that may claim. */
export function claimVerb(
  store: Store,
  rules: Pick<RedisRules, 'nameOf'>,
  buckets: Pick<RuledBuckets, 'noteVersion'>,
  sweeps: Sweeps,
  keep: string,
) {
  return async (shard: number, request: ClaimRequest, now?: number): Promise<Claim> => {
    const { scheduler, lookAhead, most, lease } = request
    const known = rules.nameOf(shard) ?? ''
    const values = [now ?? '', scheduler, lookAhead, most, lease, keep, known]
    const claim = await store.run(script, shard, values)
    const soon = (verb: 'expire' | 'recover', next: number) =>
      sweeps.isUnanswered(verb, shard) ? claim.now : next
    if (claim.kind === 'follow') {
      return {
        isElected: false,
        leaderUntil: claim.leaderUntil,
        now: claim.now,
        jobs: [],
        nextClaim: Infinity,
        nextForgetting: Infinity,
        nextRecovery: soon('recover', Infinity),
        nextExpiry: soon('expire', Infinity),
      }
    }
    buckets.noteVersion(shard, claim.book, claim.retimed)
    return {
      isElected: true,
      leaderUntil: claim.now,
      now: claim.now,
      jobs: claim.jobs,
      nextClaim: claim.nextDue - lookAhead,
      nextForgetting: claim.nextIdle + LATENESS_OF_CHORES,
      nextRecovery: soon('recover', claim.nextRecovery),
      nextExpiry: soon('expire', claim.nextExpiry),
    }
  }
}
