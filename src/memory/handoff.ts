import type { BackendJob } from '../line/job.ts'

/** Carries a released job to a worker with a free handler. */
export interface Handoff {
  /** Whether somebody could take a job now that needs a handler. */
  readonly hasRoom: boolean
  /** Whether jobs of the key may take one of the handlers that are free. */
  mayTake(key: string, now: number): boolean
  /** Somebody must have room, or it must be a turn, which its caller takes. */
  deliver(job: BackendJob): void
}

/** The end of a handoff: takes jobs while it has room. */
export interface Receiver {
  readonly hasRoom: boolean
  /** Jobs that it takes at once. */
  readonly concurrency: number
  receive(job: BackendJob): void
}
