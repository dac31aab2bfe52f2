import { projectionOf } from '../../core/bucket.ts'
import { hasParts } from '../../core/limit.ts'
import { advance, type Projection } from '../../core/projection.ts'
import { MOST_NAMED, MOST_READ, type PartsFacts } from '../../line/job-facts.ts'
import type { JobRecord } from './job-record.ts'
import type { MemoryBucket } from './memory-bucket.ts'
import { departureByParts } from './parts-ahead.ts'

interface Several {
  readonly jobs: number
  readonly units: number
}

/** How many jobs wait in the line itself, to be tried again, and because a freeze gave them back. */
export interface Standing {
  readonly line: Several
  readonly retries: Several
  readonly givenBack: Several
}

/** The jobs that depart before another, and when that one departs then. */
export interface JobsAhead {
  readonly jobs: number
  readonly cost: number
  /** Of the first of them, in order. */
  readonly ids: readonly string[]
  /** The job, or one ahead of it, needs a handler. */
  readonly needsHandler: boolean
  /** The first of all; undefined: none waits. */
  readonly head: JobRecord | undefined
  readonly departsAt: number
  readonly parts?: PartsFacts
}

/** 1: departs next. */
export function positionOf(job: JobRecord, now: number): number {
  const { bucket } = job
  return bucket.retrying === 0 ? bucket.beforeInLine(job).jobs + 1 : aheadOf(job, now).jobs + 1
}

/** Looks at a bounded number of jobs, however long the line is. */
export function aheadOf(job: JobRecord, now: number): JobsAhead {
  const { bucket } = job
  const passage = new Passage(bucket, now)
  const isFollowed = hasParts(bucket.limit)
  const passed: JobRecord[] = []
  // Where no job came back, the order is that of the line, and the first are looked at only for their ids.
  const most = bucket.retrying === 0 && !isFollowed ? MOST_NAMED : MOST_READ
  let head: JobRecord | undefined
  for (const other of bucket.inOrder(now)) {
    head ??= other
    if (passage.jobs === most) {
      passage.passUnseen(job)
      break
    }
    if (other === job) break
    passage.pass(other)
    if (isFollowed) passed.push(other)
  }
  return {
    head,
    jobs: passage.jobs,
    cost: passage.cost,
    ids: passage.ids,
    needsHandler: job.isTurn !== true || passage.needsHandler,
    ...(isFollowed
      ? departureByParts(bucket, job, passed, passage.cost, now)
      : { departsAt: passage.departureOf(job) }),
  }
}

/** The way along a line to one of its jobs, and what was passed on it. */
class Passage {
  readonly ids: string[] = []
  jobs = 0
  cost = 0
  needsHandler = false
  readonly #bucket: MemoryBucket
  readonly #projection: Projection
  /** Units that follow each other without a pause are counted at once, so that nothing is rounded between them. */
  #together = 0
  readonly #seen: Record<keyof Standing, { jobs: number; units: number }> = {
    line: { jobs: 0, units: 0 },
    retries: { jobs: 0, units: 0 },
    givenBack: { jobs: 0, units: 0 },
  }

  constructor(bucket: MemoryBucket, now: number) {
    this.#bucket = bucket
    this.#projection = projectionOf(bucket, now)
  }

  pass(job: JobRecord): void {
    const kind = kindOf(job)
    const seen = this.#seen[kind]
    seen.jobs++
    seen.units += job.cost
    if (this.ids.length < MOST_NAMED) this.ids.push(job.id)
    if (job.isTurn !== true) this.needsHandler = true
    if (kind === 'retries') this.#waitFor(job.readyAt!)
    this.#count(1, job.cost)
  }

  /**
   * Passes what was not looked at and departs before the job, by its sums: exactly, unless retries are among it, or the job and
   * more than were looked at were given back. Each retry is assumed to be ready when it gets a slot, and each of those given back
   * to depart before the job, so no position is too low.
   */
  passUnseen(job: JobRecord): void {
    const [line, retries, givenBack] = [
      this.#unseen('line'),
      this.#unseen('retries'),
      this.#unseen('givenBack'),
    ]
    const kind = kindOf(job)
    if (kind === 'givenBack') {
      this.#count(givenBack.jobs - 1, givenBack.units - job.cost)
      return
    }
    this.#count(givenBack.jobs, givenBack.units)
    if (kind === 'line') {
      const before = this.#bucket.beforeInLine(job)
      const jobs = before.jobs - this.#seen.line.jobs
      if (before.turns < before.jobs || retries.jobs > 0) this.needsHandler = true
      this.#count(jobs, before.units - this.#seen.line.units)
      // One before each of those, and one before the job.
      this.#countSome(retries, jobs + 1)
    } else {
      // Those that depart before it is ready, and then one before each retry.
      const untilReady = this.#departuresBefore(job.readyAt!)
      this.#count(retries.jobs - 1, retries.units - job.cost)
      this.#countSome(line, untilReady + retries.jobs)
    }
  }

  departureOf(job: JobRecord): number {
    this.#advance()
    if (kindOf(job) === 'retries') this.#waitFor(job.readyAt!)
    return this.#projection.slot
  }

  #unseen(kind: keyof Standing): Several {
    const [all, seen] = [this.#bucket.standing[kind], this.#seen[kind]]
    return { jobs: all.jobs - seen.jobs, units: all.units - seen.units }
  }

  #count(jobs: number, units: number): void {
    this.jobs += jobs
    this.cost += units
    this.#together += units
  }

  /** The first of several jobs, if each costs the average. */
  #countSome({ jobs, units }: Several, most: number): void {
    if (jobs <= most) this.#count(jobs, units)
    else this.#count(most, Math.round((units * most) / jobs))
  }

  /** As many cost units as could depart by then. */
  #departuresBefore(at: number): number {
    this.#advance()
    return Math.max(0, Math.ceil((at - this.#projection.slot) / this.#bucket.limit.interval))
  }

  #waitFor(readyAt: number): void {
    this.#advance()
    advance(this.#projection, this.#bucket.limit, { cost: 0, readyAt })
  }

  #advance(): void {
    advance(this.#projection, this.#bucket.limit, { cost: this.#together })
    this.#together = 0
  }
}

/** Where a job stands. */
function kindOf({ state, readyAt }: JobRecord): keyof Standing {
  if (state !== 'retrying') return 'line'
  return readyAt === undefined ? 'givenBack' : 'retries'
}
