import { MILLISECOND, SECOND } from '../../core/duration.ts'
import type { LineJob, RecentDeparture, RecentVerdict } from '../../core/line-view.ts'
import type { JobFacts, Stall, WaitFacts } from '../../line/job-facts.ts'
import { type ExplainReply, guestReply, seenStartReply, seenVerdictReply } from '../scripts/replies.ts'
import { parseReply } from '../scripts/script.ts'

type Explained = Extract<ExplainReply, { length: 3 }>
type Values = readonly (string | number)[]

/** A head that may go and has not is late after that: the way to a worker takes less. */
const LATE = SECOND
/** Schedulers that live claim at least each other second. */
const SILENT = 3 * SECOND

/** Undefined for a job that nobody knows. */
export function jobFacts(id: string, reply: ExplainReply): JobFacts | undefined {
  if (reply.length === 0) return undefined
  const [job] = reply
  const [now, key, state, attempt, admittedAt, startedAt, endedAt, hasError, error] = job
  return {
    now,
    id,
    key,
    state: state === 'granted' ? 'handed' : state,
    attempt,
    admittedAt,
    startedAt: startedAt >= 0 ? startedAt : undefined,
    endedAt: endedAt >= 0 ? endedAt : undefined,
    error: hasError ? error : undefined,
    wait: reply.length === 3 ? waitFacts(...reply) : undefined,
  }
}

function waitFacts(job: Explained[0], wait: Explained[1], ids: readonly string[]): WaitFacts {
  const [position, departsAt, jobs, cost, limit, next, frozenUntil, paused, readyAt, needsHandler] = wait
  const [isTurn, due, worker, slot] = [wait[10], wait[11], wait[12], wait[13]]
  const isHanded = job[2] === 'handed' || job[2] === 'granted'
  return {
    position,
    ahead: { jobs, cost, ids },
    departsAt,
    limit,
    next,
    frozenUntil,
    paused,
    readyAt: Number.isFinite(readyAt) ? readyAt : undefined,
    needsHandler,
    head: { isTurn, due },
    handed: isHanded ? { worker: worker || undefined, slot: slot || undefined } : undefined,
    stall: stallOf(job, wait),
  }
}

/** Nobody says that he is there; but whoever hands over, or runs jobs, leaves traces. */
function stallOf(job: Explained[0], wait: Explained[1]): Stall | undefined {
  const [now, state, admittedAt] = [job[0], job[2], job[4]]
  const [paused, due, claimedAt, running] = [wait[7], wait[11], wait[14], wait[15]]
  if (paused) return undefined
  const isHanded = state === 'handed' || state === 'granted'
  if (!isHanded && now - Math.max(claimedAt, admittedAt) > SILENT) {
    return { kind: 'unclaimed', since: claimedAt || admittedAt }
  }
  if (now - due <= LATE) return undefined
  // A bucket that was never used may go since ever.
  return { kind: 'untaken', since: Math.max(due, admittedAt), running }
}

export function lineJobOf(values: Values): LineJob {
  const [id, cost, state, admittedAt, readyAt] = parseReply(guestReply, values)
  return {
    id,
    cost,
    state,
    admittedAt: admittedAt / MILLISECOND,
    ...(Number.isFinite(readyAt) && { readyAt: readyAt / MILLISECOND }),
    // No other id begins so.
    ...(id.startsWith('~') && { isTurn: true as const }),
  }
}

export function verdictOf(values: Values): RecentVerdict {
  const [at, id, waiting, verdict] = parseReply(seenVerdictReply, values)
  const reason = verdict === 'yes' ? {} : { reason: verdict }
  return { at: at / MILLISECOND, id, accepted: verdict === 'yes', ...reason, waiting }
}

export function startOf(values: Values): RecentDeparture {
  const [at, id, gap, gapRatio] = parseReply(seenStartReply, values)
  const isKnown = Number.isFinite(gap)
  return { at: at / MILLISECOND, id, ...(isKnown && { gapMs: gap / MILLISECOND, gapRatio }) }
}
