import type { Due } from '../../core/due-heap.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { Accepted, EndState, JobSettings, JobState, JobView } from '../../core/job.ts'
import { mayBecome } from '../../core/job.ts'
import { twinName } from '../../core/job-name.ts'
import type { WaitingJob } from '../../core/projection.ts'
import type { Costs } from '../../core/usage.ts'
import type { JobRequest, WorkerJob } from '../../line/job.ts'
import type { Charge } from './charges.ts'
import type { SharedStart } from './family.ts'
import { positionOf } from './jobs-ahead.ts'
import type { LineEntry } from './line.ts'
import type { MemoryBucket } from './memory-bucket.ts'

/** A deadline in the agenda; made only for jobs that have one. */
export interface Deadline extends Due {
  readonly job: JobRecord
  readonly at: number
}

/** Bytes of the heap, measured: docs/decisions/service.md. The key is the bucket's. */
const JOB = 384
const NAMED = 120
const DEADLINE = 104
const ENDED = 40
const COSTS = 56
const NAMED_COST = 40

/** Everything that is kept of one job, from its admission until it is forgotten. Times are microseconds. */
export class JobRecord implements WorkerJob, WaitingJob, LineEntry, Due {
  readonly id: string
  /** Its slot among the live jobs; undefined for a job that its producer named. */
  readonly slot: number | undefined
  readonly bucket: MemoryBucket
  readonly data: string
  readonly cost: number
  readonly settings: JobSettings
  readonly admittedAt: number
  /** The answer to the producer that named the job, for when the same id comes again. */
  answer: Accepted | undefined = undefined
  readonly deadline: Deadline | undefined
  /** What it was charged when it started last; absent without quotas. */
  declare charge?: Charge | undefined
  /** What its last start took of the totals above its bucket; absent without totals. */
  declare shared?: readonly SharedStart[] | undefined
  declare readonly costs?: Costs
  declare readonly holdFor?: number
  /** A job without them has no fields for them: most have none, and in a million jobs they would take room. */
  declare readonly traceparent?: string
  declare readonly isTurn?: true
  /** A job of another first segment had its id for a name. */
  declare readonly isTwin?: true
  /** The attempt of its number has started before, and froze the bucket. */
  declare startsAgain?: boolean
  #state: JobState = 'waiting'
  attempt = 0
  fence = 0
  /** The earliest departure of a retry; undefined for a job that has not failed. (A number would take room.) */
  readyAt: number | undefined = undefined
  departedAt: number | undefined = undefined
  endedAt: number | undefined = undefined
  result: string | undefined = undefined
  error: string | undefined = undefined
  /** Its position in the ring of its line, and its handle in the heap of its bucket's retries. */
  place = -1
  handle = -1

  constructor(
    id: string,
    slot: number | undefined,
    bucket: MemoryBucket,
    request: JobRequest,
    now: number,
    isTwin = false,
  ) {
    this.id = id
    this.slot = slot
    this.bucket = bucket
    this.data = request.data
    this.cost = request.cost
    this.settings = request.settings
    this.admittedAt = now
    const { deadline, traceparent, isTurn, costs, holdFor } = request
    if (costs !== undefined) this.costs = costs
    if (holdFor !== undefined && bucket.hasParts) this.holdFor = holdFor
    if (traceparent !== undefined) this.traceparent = traceparent
    if (isTurn) this.isTurn = true
    if (isTwin) this.isTwin = true
    this.deadline =
      deadline === Number.POSITIVE_INFINITY ? undefined : { handle: -1, job: this, at: deadline }
  }

  get key(): string {
    return this.bucket.key
  }

  /** By which it is found; no other job has it. */
  get name(): string {
    return this.isTwin ? twinName(this.id, this.key) : this.id
  }

  /** Bytes that it takes of the heap until it is forgotten, about: the same at any time. Text counts one byte for each of its units. */
  get bytes(): number {
    const named = this.slot === undefined ? NAMED + this.id.length : 0
    const costs = this.costs === undefined ? 0 : bytesOfCosts(this.costs)
    return JOB + this.data.length + named + (this.deadline === undefined ? 0 : DEADLINE) + costs
  }

  /** What it takes in addition once it has ended. */
  get bytesOfEnd(): number {
    return ENDED + (this.result?.length ?? 0) + (this.error?.length ?? 0)
  }

  /** Always 0: lines in memory end with their process, so no start is ever cut off. */
  get crashes(): number {
    return 0
  }

  get state(): JobState {
    return this.#state
  }

  /** The one place where a state changes. */
  become(state: JobState): void {
    if (!mayBecome(this.#state, state))
      throw new Error(`job ${this.id} cannot go from ${this.#state} to ${state}`)
    this.#state = state
  }

  end(state: EndState, now: number): void {
    this.become(state)
    this.endedAt = now
  }

  view(now: number): JobView {
    const waits = this.#state === 'waiting' || this.#state === 'retrying'
    return {
      id: this.id,
      key: this.key,
      state: this.#state,
      cost: this.cost,
      ...(this.costs && { costs: this.costs }),
      data: JSON.parse(this.data),
      attempt: this.attempt,
      attempts: this.settings.attempts,
      admittedAt: this.admittedAt / MILLISECOND,
      ...(waits && { position: positionOf(this, now) }),
      ...(this.deadline && { deadlineAt: this.deadline.at / MILLISECOND }),
      ...(this.departedAt !== undefined && { departedAt: this.departedAt / MILLISECOND }),
      ...(this.endedAt !== undefined && { endedAt: this.endedAt / MILLISECOND }),
      ...(this.result !== undefined && { result: JSON.parse(this.result) }),
      ...(this.error !== undefined && { error: this.error }),
    }
  }
}

function bytesOfCosts(costs: Costs): number {
  return Object.keys(costs).reduce((sum, unit) => sum + NAMED_COST + unit.length, COSTS)
}
