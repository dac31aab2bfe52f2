import type { Audit } from '../../src/conformance/history.ts'
import type { BucketView } from '../../src/core/bucket-view.ts'
import { SECOND } from '../../src/core/duration.ts'
import type { FamilyView } from '../../src/core/family-view.ts'
import type { Admission, JobView } from '../../src/core/job.ts'
import type { RuleDifference } from '../../src/core/layered-book.ts'
import type { LimitInput } from '../../src/core/limit.ts'
import type { Flow, LineView, Recent } from '../../src/core/line-view.ts'
import type { LayeredRule, RuleChange, RuleLayers } from '../../src/core/rule-layers.ts'
import type { Costs } from '../../src/core/usage.ts'
import type { BucketPage, BucketQueryInput } from '../../src/line/bucket-query.ts'
import type { FamilyPage, FamilyQueryInput } from '../../src/line/family-query.ts'
import type { JobRequest, WorkerJob } from '../../src/line/job.ts'
import type { JobFacts } from '../../src/line/job-facts.ts'
import type { Retention } from '../../src/line/options.ts'
import type { WhichStart } from '../../src/line/settle.ts'

/**
 * What every backend can do, in the words of a test, so that one suite runs over all of them. Times are microseconds
 * and always given.
 */
export interface Driver {
  admit(request: Request, now: number): Promise<Admission>
  admitMany(requests: readonly Request[], now: number): Promise<Admission[]>
  forecast(key: string, cost: number, now: number): Promise<Admission>
  /** Answers whether it still waited. */
  cancel(id: string, now: number, key?: string): Promise<boolean>
  /** Ends the jobs whose deadline has passed; returns their ids, the first first. */
  expire(now: number): Promise<string[]>
  /** Forgets every bucket that is empty and whose `next` has passed. */
  forget(now: number): Promise<void>
  /** Starts the head that is due, if one is. */
  startNext(now: number): Promise<Started | undefined>
  /** Says what the attempt that runs, or that ran last, really counts; answers whether that is taken. */
  settle(id: string, amounts: Costs, now: number): Promise<boolean>
  /** The same from outside of its handler, for the start that is meant. */
  settleRunning(id: string, amounts: Costs, which: WhichStart, now: number): Promise<boolean>
  /** Ends the attempt that runs. */
  finish(id: string, ending: Ending, now: number): Promise<void>
  /** Answers the end of the longest freeze. */
  freeze(key: string, until: number, now: number): Promise<number>
  /** Answers whether it was frozen. */
  unfreeze(key: string, now: number): Promise<boolean>
  pause(key: string, now: number): Promise<void>
  resume(key: string, now: number): Promise<void>
  rules(): Promise<LayeredRule[]>
  layers(): Promise<RuleLayers>
  findRule(key: string): Promise<LayeredRule | undefined>
  changeRules(change: RuleChange, now: number): Promise<RuleDifference & { readonly isChanged: boolean }>
  /** By hand, without an author. */
  setRule(pattern: string, limit: LimitInput, now: number): Promise<void>
  /** Answers whether there was one. */
  unsetRule(pattern: string, now: number): Promise<boolean>
  job(id: string, now: number, key?: string): Promise<JobView | undefined>
  inspect(key: string, now: number): Promise<BucketView | undefined>
  family(path: string, now: number): Promise<FamilyView | undefined>
  families(query: FamilyQueryInput, now: number): Promise<FamilyPage>
  list(query: BucketQueryInput, now: number): Promise<BucketPage>
  audit(): Promise<Audit>
  facts(id: string, now: number, key?: string): Promise<JobFacts | undefined>
  line(key: string, limit: number, now: number): Promise<LineView | undefined>
  flow(now: number): Promise<Flow>
  recent(key: string, now: number): Promise<Recent>
  /** The names of everything that the backend keeps in a store; empty where there is none. */
  stored(): Promise<string[]>
  close(): Promise<void>
}

export type OpenDriver = (
  limits: Readonly<Record<string, LimitInput>>,
  keepFinished?: number | Retention,
) => Promise<Driver>

/** `deadline` is an instant. */
export type Request = JobRequest & { readonly id: string }

export type Started = WorkerJob & { readonly slot: number }

export type Ending =
  | { readonly kind: 'completed'; readonly result?: string }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'retry'; readonly error: string; readonly readyAt: number }
  | { readonly kind: 'freeze'; readonly until: number }

export const COMPLETED: Ending = { kind: 'completed' }

export const SETTINGS = {
  attempts: 3,
  backoff: { type: 'fixed', delayMs: 1_000, maxDelayMs: 1_000, jitter: 0 },
  timeoutMs: 60_000,
} as const

/** Turns of the tests have ids of this caller: `~c~1`. */
export const TURN_CALLER = 'c'

/** A time of our days, where doubles step by a quarter of a microsecond. */
const NOON = 1_700_000_000 * SECOND

export function at(seconds: number): number {
  return NOON + seconds * SECOND
}

/** The same instant as a view shows it. */
export function msAt(seconds: number): number {
  return at(seconds) / 1_000
}

export function request(id: string, part: Partial<JobRequest> = {}): Request {
  return {
    key: 'a',
    data: '1',
    cost: 1,
    deadline: Number.POSITIVE_INFINITY,
    settings: SETTINGS,
    ...part,
    id,
  }
}

export function failAndRetry(readyAt: number): Ending {
  return { kind: 'retry', error: 'as planned', readyAt }
}
