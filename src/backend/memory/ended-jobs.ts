import type { JobRecord } from './job-record.ts'

/** The last jobs that ended, so that their fate can be asked for; the oldest makes room for the newest. */
export class EndedJobs {
  readonly #ring: JobRecord[] = []
  readonly #keep: number
  #oldest = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  /** Keeps the job, and answers the one that is no longer kept. */
  add(job: JobRecord): JobRecord | undefined {
    if (this.#keep === 0) return job
    if (this.#ring.length < this.#keep) {
      this.#ring.push(job)
      return undefined
    }
    const forgotten = this.#ring[this.#oldest]
    this.#ring[this.#oldest] = job
    this.#oldest = (this.#oldest + 1) % this.#keep
    return forgotten
  }
}
