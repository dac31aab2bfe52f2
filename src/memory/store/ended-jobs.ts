import type { JobRecord } from './job-record.ts'

/** The last jobs that ended, for views of them; the newest replaces the oldest. */
export class EndedJobs {
  readonly #byId = new Map<string, JobRecord>()
  readonly #ring: JobRecord[] = []
  readonly #keep: number
  #oldest = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  get(id: string): JobRecord | undefined {
    return this.#byId.get(id)
  }

  add(job: JobRecord): void {
    if (this.#keep === 0) return
    if (this.#ring.length === this.#keep) {
      this.#byId.delete(this.#ring[this.#oldest]!.id)
      this.#ring[this.#oldest] = job
      this.#oldest = (this.#oldest + 1) % this.#keep
    } else {
      this.#ring.push(job)
    }
    this.#byId.set(job.id, job)
  }
}
