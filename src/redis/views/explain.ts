import { SECOND } from '../../core/duration.ts'
import type { JobFacts, Stall, UnderTotals, WaitFacts } from '../../line/job-facts.ts'
import { idOfName } from '../scripts/job-id.ts'
import { LATE, STORED_STATES } from '../scripts/prelude.ts'
import { type Answer, flag, list, number, optional, rest, row, text, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { totalRow } from '../verbs/by-total.ts'
import { lineHold } from '../verbs/forecast.ts'

/** Times are microseconds; -1 for one that has not come. */
const jobRow = row({
  now: number,
  key: text,
  state: word(...STORED_STATES),
  attempt: number,
  admittedAt: number,
  startedAt: number,
  endedAt: number,
  hasError: flag,
  error: text,
})

/** What a job waits for; see the header of explain.lua. */
const waitRow = row({
  position: number,
  departsAt: number,
  jobs: number,
  cost: number,
  limit: text,
  next: number,
  frozenUntil: number,
  isPaused: flag,
  readyAt: number,
  needsHandler: flag,
  isHeadTurn: flag,
  headDue: number,
  worker: text,
  slot: number,
  claimedAt: number,
  running: number,
})

const partsRow = row({
  mayBeLater: flag,
  mayBeEarlier: flag,
  isFull: flag,
  quota: optional(lineHold),
})

const underRow = row({ isExact: flag, waitAtMost: number, totals: rest(totalRow) })

const explainScript = defineScript(
  'explain',
  import.meta.url,
  list(
    row({
      job: optional(list(jobRow)),
      wait: optional(list(waitRow)),
      ids: optional(list(rest(text))),
      parts: optional(list(optional(partsRow))),
      under: optional(list(underRow)),
    }),
  ),
)

type Job = Answer<typeof jobRow>
type Wait = Answer<typeof waitRow>

/** A running scheduler claims at least every other second. */
const SILENT = 3 * SECOND

/** What Redis knows of a job. Without a key that shows the shard, all shards are asked. */
export function readFacts(store: Store, id: string, now?: number, key = ''): Promise<JobFacts | undefined> {
  const ask = async (shard: number) => {
    const { job, wait, ids = [], parts, under } = await store.read(explainScript, shard, [id, key], now)
    if (job === undefined) return undefined
    const facts = wait && {
      ...waitFacts(job, wait, ids.map(idOfName)),
      parts,
      under: under && underFacts(under),
    }
    return { ...jobFacts(id, job), wait: facts }
  }
  return key === '' ? store.firstFound(ask) : ask(store.shardOf(key))
}

function jobFacts(id: string, job: Job): Omit<JobFacts, 'wait'> {
  const { now, key, state, attempt, admittedAt, startedAt, endedAt } = job
  return {
    now,
    id,
    key,
    state: state === 'granted' ? 'handed' : state,
    attempt,
    admittedAt,
    startedAt: startedAt >= 0 ? startedAt : undefined,
    endedAt: endedAt >= 0 ? endedAt : undefined,
    error: job.hasError ? job.error : undefined,
  }
}

function underFacts({ isExact, waitAtMost, totals }: Answer<typeof underRow>): UnderTotals {
  return { isExact, totals, waitAtMost: waitAtMost < 0 ? undefined : waitAtMost }
}

function waitFacts(job: Job, wait: Wait, ids: readonly string[]): WaitFacts {
  const { position, departsAt, jobs, cost, limit, next, frozenUntil, readyAt, needsHandler } = wait
  const handed = { worker: wait.worker || undefined, slot: wait.slot || undefined }
  return {
    position,
    ahead: { jobs, cost, ids },
    departsAt,
    limit,
    next,
    frozenUntil,
    paused: wait.isPaused,
    readyAt: Number.isFinite(readyAt) ? readyAt : undefined,
    needsHandler,
    head: { isTurn: wait.isHeadTurn, due: wait.headDue },
    handed: isHanded(job) ? handed : undefined,
    stall: stallOf(job, wait),
  }
}

/** Inferred from traces: no process reports that it is there, but schedulers leave claims, and workers running jobs. */
function stallOf(job: Job, { isPaused, headDue, claimedAt, running }: Wait): Stall | undefined {
  const { now, admittedAt } = job
  if (isPaused) return undefined
  if (!isHanded(job) && now - Math.max(claimedAt, admittedAt) > SILENT) {
    return { kind: 'unclaimed', since: claimedAt || admittedAt }
  }
  if (now - headDue <= LATE) return undefined
  // The head of a bucket that was never used is due since -Infinity.
  return { kind: 'untaken', since: Math.max(headDue, admittedAt), running }
}

function isHanded({ state }: Job): boolean {
  return state === 'handed' || state === 'granted'
}
