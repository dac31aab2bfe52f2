import type { Admission } from '../core/job.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { JobFacts } from './job-facts.ts'

/** What can be seen of a line in memory beyond its views. `now` is microseconds. */
export interface Insight {
  /** Undefined for a job that nobody knows. */
  facts(id: string, now: number): JobFacts | undefined
  /** The first `limit` guests; undefined for a bucket that is not live. */
  line(key: string, limit: number, now: number): LineView | undefined
  flow(now: number): Flow
  /** Gathered from the first call on, and for 30 s after the last one; nothing is while nobody asks. */
  recent(key: string, now: number): Recent
  /** A verdict that somebody was told. */
  noteVerdict(key: string, id: string | undefined, admission: Admission, now: number): void
}
