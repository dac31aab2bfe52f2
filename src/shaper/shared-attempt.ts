import type { BackendJob } from '../backend/backend.ts'
import { Attempt, type Settled } from './attempt.ts'
import type { ShapedJob } from './shaped-job.ts'

/** An attempt that departed by the store's clock and is timed by that of the process: the former may be moved. */
export class SharedAttempt<Data, Result> extends Attempt<Data, Result> {
  readonly #startedAt: number

  /** @param startedAt by the clock of the process, in microseconds */
  constructor(
    job: ShapedJob<Data>,
    backendJob: BackendJob,
    startedAt: number,
    onSettled: (attempt: Attempt<Data, Result>, settled: Settled<Result>) => void,
  ) {
    super(job, backendJob, onSettled)
    this.#startedAt = startedAt
  }

  override get startedAt(): number {
    return this.#startedAt
  }
}
