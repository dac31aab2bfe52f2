import { MILLISECOND } from '../core/duration.ts'
import type { Hold, HoldReason, JobExplanation } from '../core/explanation-view.ts'
import type { RuleView } from '../core/rule-view.ts'
import { counted, spokenDuration, summaryOf } from './explanation-text.ts'
import type { JobFacts, Stall, WaitFacts } from './job-facts.ts'

/** Of these nobody knows when they end. */
const ENDLESS: readonly HoldReason[] = ['paused', 'no-worker', 'busy']
const NOBODY = { jobs: 0, cost: 0, ids: [] }

/** Makes sense of what a store knows of a job; pure. `rule`: the one that governs its key, if any. */
export function explain(facts: JobFacts, rule: RuleView | undefined): JobExplanation {
  const { id, key, state, wait } = facts
  const holds = wait === undefined ? [] : holdsOf(facts, wait, rule !== undefined)
  const isEndless = holds.some(({ reason }) => ENDLESS.includes(reason))
  return {
    id,
    key,
    state,
    ...(wait && { position: wait.position }),
    ...(wait && !isEndless && { departsAt: wait.departsAt / MILLISECOND }),
    holds,
    ahead: wait?.ahead ?? NOBODY,
    ...(rule && { rule }),
    summary: summaryOf(facts, rule !== undefined),
    summaryWithoutTimes: summaryOf(facts, rule !== undefined, false),
  }
}

function holdsOf(facts: JobFacts, wait: WaitFacts, isGoverned: boolean): Hold[] {
  const { now } = facts
  const { ahead, departsAt, next, frozenUntil, paused, readyAt, handed, stall } = wait
  const holds: Hold[] = []
  const hold = (reason: HoldReason, detail: string, until = Number.POSITIVE_INFINITY) => {
    const isKnown = Number.isFinite(until)
    if (until > now) holds.push({ reason, ...(isKnown && { until: until / MILLISECOND }), detail })
  }
  // Who has his slot goes, whatever happens to the bucket meanwhile.
  if (handed?.slot === undefined) {
    if (paused) hold('paused', 'the bucket is paused until somebody resumes it')
    if (stall !== undefined) hold(...stallHold(stall, wait, now))
    hold('frozen', 'the bucket is frozen', frozenUntil)
    if (readyAt !== undefined) hold('backoff', `it backs off after attempt ${facts.attempt}`, readyAt)
    const isOpen = paused || stall !== undefined
    if (ahead.jobs > 0) hold('line', lineDetail(ahead), isOpen ? undefined : departsAt)
    else hold('slot', 'the departure before it keeps the next one away', next)
  }
  if (handed !== undefined) hold('handed', handedDetail(wait), departsAt > now ? departsAt : undefined)
  holds.sort((one, other) => lastsFor(other) - lastsFor(one))
  if (!isGoverned) {
    hold('no-rule', `no rule governs the key: those who wait keep ${wait.limit}, and nobody new is let in`)
  }
  return holds
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
        `the key has its share of the handlers: ${stall.running} run, and the free ones are kept for other keys`,
      ]
    case 'unclaimed': {
      const since = spokenDuration(now - stall.since)
      return ['no-worker', `nobody has handed jobs over for ${since}: neither a worker nor a scheduler runs`]
    }
    case 'untaken': {
      const late = `the head of the line could have gone for ${spokenDuration(now - stall.since)}`
      if (head.isTurn) return ['handed', `${late}, and the caller whose turn it is has not answered`]
      return stall.running === 0
        ? ['no-worker', `${late}, and no worker has taken it; nothing else of its shard runs`]
        : ['busy', `${late}, and no worker has taken it; others of its shard run, ${stall.running} or more`]
    }
  }
}

function lineDetail({ jobs, cost }: WaitFacts['ahead']): string {
  const units = cost === jobs ? '' : ` (${counted(cost, 'cost unit')})`
  return `${counted(jobs, 'job')}${units} ${jobs === 1 ? 'departs' : 'depart'} before it`
}

function handedDetail({ ahead, handed }: WaitFacts): string {
  if (handed?.slot !== undefined) return `worker ${handed.worker} has its slot, and waits for it`
  return ahead.jobs > 0
    ? 'it was handed over, and waits at a worker for those before it'
    : 'it was handed over, and no worker has asked for its slot yet'
}

/** For ever, until a time, or not for long. */
function lastsFor({ reason, until }: Hold): number {
  return ENDLESS.includes(reason)
    ? Number.MAX_VALUE
    : (until ?? (reason === 'line' ? Number.MAX_SAFE_INTEGER : 0))
}
