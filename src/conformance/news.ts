import type { JobRecord, JobState } from './job-record.ts'

/** A job moved out of the state `from`. */
interface Move {
  readonly job: JobRecord
  readonly from: JobState
  readonly at: number
}

/**
 * What happened to handlers of a key within the last `lag`: the store may have heard of it, of the first part of it,
 * or of nothing. None of it is kept where one process does everything.
 */
export class News {
  readonly #lag: number
  #moves: Move[] = []

  constructor(lag: number) {
    this.#lag = lag
  }

  /** The job is about to leave the state that it is in. */
  add(job: JobRecord, at: number): void {
    if (this.#lag === 0) return
    this.#forget(at)
    this.#moves.push({ job, from: job.state, at })
  }

  /** Those of which the store may believe at `at` that they are in one of `states`, though they are not. */
  mayBeIn(at: number, states: readonly JobState[]): JobRecord[] {
    return this.#jobs(at, ({ job, from }) => states.includes(from) && !states.includes(job.state))
  }

  /** Those that are in one of `states` while the store may believe at `at` that they are not. */
  mayNotBeIn(at: number, states: readonly JobState[]): JobRecord[] {
    return this.#jobs(at, ({ job, from }) => !states.includes(from) && states.includes(job.state))
  }

  #jobs(at: number, fits: (move: Move) => boolean): JobRecord[] {
    this.#forget(at)
    return [...new Set(this.#moves.filter(fits).map(({ job }) => job))]
  }

  #forget(at: number): void {
    const old = this.#moves.findIndex((move) => move.at + this.#lag >= at)
    if (old !== 0) this.#moves.splice(0, old === -1 ? this.#moves.length : old)
  }
}

/** The cost units of these jobs. */
export function unitsOf(jobs: readonly JobRecord[]): number {
  return jobs.reduce((units, { cost }) => units + cost, 0)
}
