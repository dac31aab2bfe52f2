import type { JobRecord, JobState } from './job-record.ts'

/** A job left the state `from`. */
interface Move {
  readonly job: JobRecord
  readonly from: JobState
  readonly at: number
}

/**
 * Changes of a key's jobs within the last `lag`: the store may know of all of them, of the first ones, or of none. With
 * a lag of 0 none is kept.
 */
export class News {
  readonly #lag: number
  #moves: Move[] = []

  constructor(lag: number) {
    this.#lag = lag
  }

  /** Records that the job is about to leave its state. */
  add(job: JobRecord, at: number): void {
    if (this.#lag === 0) return
    this.#forget(at)
    this.#moves.push({ job, from: job.state, at })
  }

  /** The jobs that the store may believe at `at` to be in one of `states`, though they are not. */
  mayBeIn(at: number, states: readonly JobState[]): JobRecord[] {
    return this.#jobs(at, ({ job, from }) => states.includes(from) && !states.includes(job.state))
  }

  /** The jobs in one of `states` that the store may believe at `at` not to be. */
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
