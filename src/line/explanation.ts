import { MILLISECOND } from '../core/duration.ts'
import type { JobExplanation, TotalPlace } from '../core/explanation-view.ts'
import type { Hold, HoldReason } from '../core/hold.ts'
import { parseStoredLimit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import type { RuleView } from '../core/rule-view.ts'
import { summaryOf } from './explanation-text.ts'
import {
  frozenText,
  lineText,
  pausedText,
  placesText,
  quotaText,
  SPACED,
  spokenDuration,
} from './hold-text.ts'
import type { JobFacts, Stall, TotalFacts, UnderTotals, WaitFacts } from './job-facts.ts'
import { bindingTotal, departureOf, holdsOfTotal, shareHold, turnOf } from './totals-text.ts'

/** Holds without a known end. */
const ENDLESS: readonly HoldReason[] = ['paused', 'no-worker', 'busy']
const NO_JOBS = { jobs: 0, cost: 0, ids: [] }

/** Explains a job from what a store knows of it; pure. `rule`: the one that governs its key, if any. */
export function explain(facts: JobFacts, rule: RuleView | undefined): JobExplanation {
  const { id, key, state, wait } = facts
  const holds = wait === undefined ? [] : holdsOf(facts, wait, rule !== undefined)
  const under = wait?.under
  const isEstimate = wait?.parts?.mayBeLater || wait?.parts?.mayBeEarlier || under?.isExact === false
  const isEndless = holds.some(({ reason }) => ENDLESS.includes(reason))
  return {
    id,
    key,
    state,
    ...(wait && { position: wait.position }),
    ...(wait && !isEndless && { departsAt: departureOf(wait) / MILLISECOND }),
    ...(isEstimate && !isEndless && { isEstimate: true as const }),
    ...(under?.waitAtMost !== undefined && !isEndless && { waitMsAtMost: under.waitAtMost / MILLISECOND }),
    ...(under && { totals: under.totals.map(placeOf) }),
    holds,
    ahead: wait?.ahead ?? NO_JOBS,
    ...(rule && { rule }),
    summary: summaryOf(facts, rule !== undefined),
    summaryWithoutTimes: summaryOf(facts, rule !== undefined, false),
  }
}

function holdsOf(facts: JobFacts, wait: WaitFacts, isGoverned: boolean): Hold[] {
  const { now } = facts
  const { ahead, departsAt, next, frozenUntil, paused, readyAt, handed, stall, parts, under } = wait
  const limit = parseStoredLimit(wait.limit)
  const holds: Hold[] = []
  const hold = (reason: HoldReason, detail: string, until = Number.POSITIVE_INFINITY, quota?: string) => {
    if (until <= now) return
    const end = Number.isFinite(until) && { until: until / MILLISECOND }
    holds.push({ reason, ...end, ...(quota !== undefined && { quota }), detail })
  }
  // A job that has its slot departs, whatever happens to the bucket meanwhile.
  if (handed?.slot === undefined) {
    if (paused) hold('paused', pausedText())
    if (stall !== undefined) hold(...stallHold(stall, wait, now))
    hold('frozen', frozenText(), frozenUntil)
    if (readyAt !== undefined) hold('backoff', `it backs off after attempt ${facts.attempt}`, readyAt)
    if (parts?.isFull) hold('place', placesText(limit))
    if (parts?.quota !== undefined) {
      const { index, until } = parts.quota
      const name = nameOfQuota(limit.quotas[index]!)
      hold('quota', quotaText(limit, parts.quota, now), until, name)
    }
    if (under !== undefined) holds.push(...holdsUnder(under, departsAt, now))
    const isOpen = paused || stall !== undefined || parts?.isFull === true
    if (ahead.jobs > 0) hold('line', lineText(ahead), isOpen ? undefined : departsAt)
    else hold('slot', SPACED, next)
  }
  if (handed !== undefined) hold('handed', handedDetail(wait), departsAt > now ? departsAt : undefined)
  holds.sort((one, other) => lastsFor(other) - lastsFor(one))
  if (!isGoverned) {
    hold('no-rule', `no rule governs the key: waiting jobs keep ${wait.limit}, and new ones are rejected`)
  }
  return holds
}

/** What totals hold a job with that their own limit lets go at `own`. */
function holdsUnder({ totals }: UnderTotals, own: number, now: number): Hold[] {
  const holds = totals.flatMap((total) => holdsOfTotal(total, now))
  const binding = bindingTotal(totals, own, now)
  return binding === undefined || binding.quota !== undefined ? holds : [...holds, shareHold(binding)]
}

function placeOf(total: TotalFacts): TotalPlace {
  const { path, limit, others, weight, weights } = total
  return { total: path, limit, others, share: weight / weights, turn: turnOf(total) }
}

function stallHold(stall: Stall, { head }: WaitFacts, now: number): [HoldReason, string] {
  switch (stall.kind) {
    case 'no-worker':
      return ['no-worker', 'no worker takes jobs in this process: none was opened, or all are closed']
    case 'busy':
      return ['busy', `every handler of this process runs: ${stall.running} of them`]
    case 'shared-out':
      return [
        'busy',
        `the key or its segment has its share of the handlers: ${stall.running} run, and the free ones are kept for others`,
      ]
    case 'unclaimed': {
      const since = spokenDuration(now - stall.since)
      return [
        'no-worker',
        `no scheduler has handed jobs over for ${since}: neither a worker nor a scheduler runs`,
      ]
    }
    case 'untaken': {
      const late = `the head of the line has been due for ${spokenDuration(now - stall.since)}`
      if (head.isTurn) return ['handed', `${late}, and its caller has not responded`]
      return stall.running === 0
        ? ['no-worker', `${late}, and no worker has taken it; nothing else of its shard runs`]
        : ['busy', `${late}, and no worker has taken it; others of its shard run, ${stall.running} or more`]
    }
  }
}

function handedDetail({ ahead, handed }: WaitFacts): string {
  if (handed?.slot !== undefined) return `worker ${handed.worker} has its slot, and waits for it`
  return ahead.jobs > 0
    ? 'it was handed over, and waits at a worker for the jobs ahead of it'
    : 'it was handed over, and no worker has asked for its slot yet'
}

/** Orders holds: those without an end first, then by their end. */
function lastsFor({ reason, until }: Hold): number {
  return ENDLESS.includes(reason)
    ? Number.MAX_VALUE
    : (until ?? (reason === 'line' || reason === 'place' ? Number.MAX_SAFE_INTEGER : 0))
}
