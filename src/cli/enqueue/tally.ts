import { SECOND } from '../../core/duration.ts'
import type { Accepted, Rejected } from '../../core/job.ts'
import { formatCount, formatSeconds } from '../numbers.ts'
import { renderFacts } from '../table.ts'
import type { JobLine } from './job-lines.ts'

/** As many units as the summary names. */
const MOST_UNITS = 8

/** Counts the verdicts of many jobs. */
export class EnqueueTally {
  accepted = 0
  /** Accepted jobs whose id was enqueued before, so that no new job was admitted. */
  replayed = 0
  readonly rejected: Record<Rejected['reason'], number> = { full: 0, deadline: 0, paused: 0, 'too-costly': 0 }
  /** Jobs by the unit that they name and no quota counts; of the first units only. */
  readonly uncounted = new Map<string, number>()
  invalid = 0
  longestWaitMs = 0
  /** Every job up to this line has its final verdict. */
  settledLine = 0
  /** The first and the last line of the batch in flight. */
  inFlight: readonly [first: number, last: number] | undefined
  readonly #now: () => number
  readonly #startedAt: number

  constructor(now: () => number) {
    this.#now = now
    this.#startedAt = now()
  }

  begin(batch: readonly JobLine[]): void {
    this.inFlight = [batch[0]!.line, batch.at(-1)!.line]
  }

  settle(batch: readonly JobLine[]): void {
    this.settledLine = batch.at(-1)!.line
    this.inFlight = undefined
  }

  accept({ waitMs, replayed, uncounted = [] }: Accepted): void {
    this.accepted++
    if (replayed) this.replayed++
    for (const unit of uncounted) {
      const jobs = this.uncounted.get(unit) ?? 0
      if (jobs > 0 || this.uncounted.size < MOST_UNITS) this.uncounted.set(unit, jobs + 1)
    }
    this.longestWaitMs = Math.max(this.longestWaitMs, waitMs)
  }

  reject({ reason }: Rejected): void {
    this.rejected[reason]++
  }

  get rejections(): number {
    return Object.values(this.rejected).reduce((sum, count) => sum + count, 0)
  }

  get seconds(): number {
    return (this.#now() - this.#startedAt) / SECOND
  }

  get jobsPerSecond(): number {
    return (this.accepted + this.rejections) / Math.max(this.seconds, 1e-6)
  }

  toJson() {
    const { accepted, replayed, rejected, invalid, longestWaitMs, settledLine, seconds, jobsPerSecond } = this
    const uncounted = this.uncounted.size > 0 && { uncounted: Object.fromEntries(this.uncounted) }
    return {
      accepted,
      replayed,
      ...uncounted,
      rejected,
      invalid,
      longestWaitMs,
      settledLine,
      seconds,
      jobsPerSecond,
    }
  }

  progress(): string {
    return `${formatCount(this.accepted)} accepted, ${formatCount(this.rejections)} rejected`
  }

  /** Renders the counts, without those that are 0. */
  summary(): string {
    const rejected = Object.entries(this.rejected).filter(([, count]) => count > 0)
    const facts: [string, string][] = [['accepted', formatCount(this.accepted)]]
    if (this.replayed > 0) facts.push(['  repeated', formatCount(this.replayed)])
    for (const [unit, jobs] of this.uncounted) facts.push([`  no quota counts ${unit}`, formatCount(jobs)])
    facts.push(['rejected', formatCount(this.rejections)])
    for (const [reason, count] of rejected) facts.push([`  ${reason}`, formatCount(count)])
    if (this.invalid > 0) facts.push(['invalid lines', formatCount(this.invalid)])
    if (this.accepted > 0) facts.push(['longest wait', formatSeconds(this.longestWaitMs / 1_000)])
    facts.push(['jobs/s', formatCount(Math.round(this.jobsPerSecond))])
    return renderFacts(facts)
  }
}
